# Completion of PROGRAM for fish: put it into ~/.config/fish/completions/PROGRAM.fish
function _FUNCTION_words
    set -l before (commandline -opc)
    # The word without the quote that is open, or without what escapes its letters.
    set -l word (commandline -ct)
    if string match --quiet --regex '^[\'"]' -- "$word"
        set word (string sub --start 2 -- "$word")
    else
        set word (string unescape -- "$word")
    end
    $before[1] complete -- $before[2..-1] "$word" 2>/dev/null
end
complete -c PROGRAM -f -k -a '(_FUNCTION_words)'
