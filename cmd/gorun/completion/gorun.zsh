#compdef gorun
# Completion of gorun for zsh: install it as _gorun in a folder of fpath, or
# source it after compinit.

_gorun() {
    local kind line meaning
    local -a lines proposals
    lines=("${(@f)$(command ${(Q)words[1]} completion complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=$lines[1]
    for line in "${(@)lines[2,-1]}"; do
        meaning=${line#*$'\t'}
        [[ -n $line ]] && proposals+=("${${line%%$'\t'*}//:/\\:}${meaning:+:$meaning}")
    done
    case $kind in
    program*)
        local -i n=${kind#program }
        words=("${(@)words[n+2,-1]}")
        (( CURRENT -= n + 1 ))
        _normal
        return
        ;;
    files) _files ;;
    folders) _files -/ ;;
    variables) _parameters -g '*export*' ;;
    commands)
        (( $#proposals )) && _describe verb proposals
        _command_names -e || _files
        return
        ;;
    esac
    (( $#proposals )) && _describe flag proposals
}

if [[ $funcstack[1] = _gorun ]]; then
    _gorun "$@"
else
    compdef _gorun gorun
fi
