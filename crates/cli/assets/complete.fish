# Completion of PROGRAM for fish: put it into ~/.config/fish/completions/PROGRAM.fish
function _FUNCTION_words
    set -l before (commandline -opc)
    $before[1] complete -- $before[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c PROGRAM -f -k -a '(_FUNCTION_words)'
