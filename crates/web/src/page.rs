//! The playground: one page with the engine inside. It needs no server and asks for nothing.

/// The engine as WebAssembly, packed by gzip. `./tg web` makes it.
pub const PRODUCT: &[u8] = include_bytes!("../product/engine.wasm.gz");
/// What it was made of: its version, a hash of the sources, its bytes, as JSON.
pub const MADE_OF: &str = include_str!("../product/engine.json");

const PAGE: &str = include_str!("../assets/playground.html");
const STYLE: &str = include_str!("../assets/playground.css");
const WORKER: &str = include_str!("../assets/worker.js");
/// The script of the page, in the order in which it runs.
const SCRIPTS: [&str; 4] = [
    include_str!("../assets/engine.js"),
    include_str!("../assets/editor.js"),
    report::FABRIC_SCRIPT,
    include_str!("../assets/playground.js"),
];

/// The page, whole.
pub fn playground() -> String {
    let mut page = String::with_capacity(PAGE.len() + PRODUCT.len() * 3 / 2);
    // Only our own files fill the gaps: none of them holds the mark of a gap or ends its element.
    for part in PAGE.split("{{") {
        let Some((name, rest)) = part.split_once("}}") else {
            page.push_str(part);
            continue;
        };
        match name {
            "style" => [STYLE, report::FABRIC_STYLE]
                .iter()
                .for_each(|style| page.push_str(style)),
            "worker" => page.push_str(WORKER),
            "script" => SCRIPTS.iter().for_each(|script| page.push_str(script)),
            "engine" => base64(&mut page, PRODUCT),
            other => unreachable!("the page has a gap {other:?}"),
        }
        page.push_str(rest);
    }
    page
}

/// [RFC 4648, section 4]
fn base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = word >> (18 - 6 * i) & 63;
            out.push(if i <= three.len() {
                char::from(DIGITS[digit as usize])
            } else {
                '='
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_as_the_standard_says() {
        let text = |bytes: &[u8]| {
            let mut out = String::new();
            base64(&mut out, bytes);
            out
        };
        // [RFC 4648, section 10]
        let known = [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (plain, encoded) in known {
            assert_eq!(text(plain.as_bytes()), encoded);
        }
        assert_eq!(text(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
