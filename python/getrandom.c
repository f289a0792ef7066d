/* What C libraries have since 2.25 and Rust's standard library asks for. The program of a wheel is linked for 2.17, and
 * the kernel answers in either case. */
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("hidden"))) ssize_t getrandom(void *to, size_t bytes, unsigned flags) {
    return syscall(SYS_getrandom, to, bytes, flags);
}
