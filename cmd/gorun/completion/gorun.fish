# Completion of gorun for fish: source it, or install it as
# ~/.config/fish/completions/gorun.fish

function __gorun_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command $words[1] completion complete -- $words[2..-1] 2>/dev/null)
    printf '%s\n' $lines[2..-1]
    switch $lines[1]
        case 'program *'
            set -l first (math (string replace 'program ' '' -- $lines[1]) + 2)
            complete -C (string join ' ' -- (string escape -- $words[$first..-2]) $words[-1])
        case files
            __fish_complete_path $words[-1]
        case folders
            __fish_complete_directories $words[-1]
        case variables
            set -nx
        case commands
            __fish_complete_command
            __fish_complete_path $words[-1]
    end
end

complete -c gorun -f -a '(__gorun_complete)'
