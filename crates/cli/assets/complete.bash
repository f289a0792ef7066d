# Completion of PROGRAM for bash: source it, or put it into ~/.local/share/bash-completion/completions/PROGRAM
_FUNCTION() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${COMP_WORDS[0]}" complete --line -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    # A key waits for its value, and a folder for what is in it.
    if [ "${#COMPREPLY[@]}" -eq 1 ]; then
        case ${COMPREPLY[0]} in *[=/]) compopt -o nospace 2>/dev/null ;; esac
    fi
}
complete -o nosort -F _FUNCTION PROGRAM
