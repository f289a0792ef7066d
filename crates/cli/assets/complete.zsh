#compdef PROGRAM
# Completion of PROGRAM for zsh: put it as _PROGRAM into a folder of $fpath, or source it after compinit.
_FUNCTION() {
    local line text
    local -a ended open ended_says open_says
    # Words without their quotes: PREFIX is the last one without a quote that is still open.
    for line in "${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        text=${line%%$'\t'*}
        # A key waits for its value, and a folder for what is in it.
        if [[ $text == *[=/] ]]; then
            open+=("$text") open_says+=("${line/$'\t'/  -- }")
        else
            ended+=("$text") ended_says+=("${line/$'\t'/  -- }")
        fi
    done
    (( $#ended )) && compadd -l -d ended_says -- "${ended[@]}"
    (( $#open )) && compadd -S '' -l -d open_says -- "${open[@]}"
    (( $#ended + $#open ))
}
if [ "$funcstack[1]" = "_FUNCTION" ]; then _FUNCTION "$@"; else compdef _FUNCTION PROGRAM; fi
