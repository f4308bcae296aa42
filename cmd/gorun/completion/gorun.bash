# Completion of gorun for bash: source it, or install it as
# ~/.local/share/bash-completion/completions/gorun

_gorun() {
    # Bash parts words at ":" and "=" too, which are within gorun's: join what
    # has no blank between it. first[i] is where word i begins among bash's.
    local -a words first
    local i rest=$COMP_LINE joined
    for ((i = 0; i <= COMP_CWORD; i++)); do
        joined=1
        [[ $i = 0 || $rest = [[:blank:]]* ]] && joined=
        while [[ $rest = [[:blank:]]* ]]; do rest=${rest#?}; done
        rest=${rest#"${COMP_WORDS[i]}"}
        if [[ $joined ]]; then
            words[${#words[@]}-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            first+=("$i")
        fi
    done
    local current=${words[${#words[@]}-1]} kind line
    COMPREPLY=()
    {
        IFS= read -r kind
        while IFS= read -r line; do COMPREPLY+=("${line%%$'\t'*}"); done
    } < <(command "${words[0]}" completion complete -- "${words[@]:1}" 2>/dev/null)
    case $kind in
    program*)
        local program=${first[${kind#program }+1]}
        if declare -F _comp_command_offset >/dev/null; then
            _comp_command_offset "$program"
        elif declare -F _command_offset >/dev/null; then
            _command_offset "$program"
        else
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        fi
        return
        ;;
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    variables) compopt -o nospace 2>/dev/null; mapfile -t COMPREPLY < <(compgen -e -- "$current") ;;
    commands)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current")
        ;;
    esac
    # What stands before the last word of bash's is there already.
    local before=${current%"${COMP_WORDS[COMP_CWORD]#[:=]}"}
    [[ $before ]] && COMPREPLY=("${COMPREPLY[@]#"$before"}")
}

complete -F _gorun gorun
