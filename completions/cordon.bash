# bash completion for cordon
# shellcheck shell=bash

# Words of a command's options; those that take a value end in "=" and are followed by what the
# value is: words by "|", or one of @file, @dir, @none.
_cordon_run='--profile=stage|module|limits|test|agent --policy=@file --within=@file --ro=@file
--rw=@file --hide=@file --work=private|@dir --cwd=@dir --tmp=@none --net=none|loopback|host
--env=@variable --setenv=@none --wall=@none --cpu=@none --mem=@none --pids=@none --nofile=@none
--output=@none --on-overflow=truncate|kill --grace=@none --cpus=@none
--seccomp=default|strict|off --on-forbidden=errno|kill
--require=wall_time|cpu_time|memory|pids|open_files|output|filesystem|network|syscalls|privileges|environment|processes|ipc|devices|cpu_rate
--uid=nobody|caller --allow-partial --backend=auto|native|bwrap|posix|none --unsafe-no-isolation
--tty --stdin=none --die-with=@none --result=@file --json --stdout-file=@file --stderr-file=@file
--exit=child|normalized --format=text --trace-id=@none --progress --quiet --dry-run --help'
_cordon_call=${_cordon_run/--tty /}
_cordon_call=${_cordon_call/--exit=child|normalized --format=text /}
_cordon_call="--extensions=@dir --list --no-sandbox --timeout=@none --audit-log=@file
--exit=child|normalized|apcore ${_cordon_call/--progress /}"
_cordon_policy='--profile=stage|module|limits|test|agent --policy=@file --form=v1|noether --json
--help'
_cordon_doctor='--json --profile=stage|module|limits|test|agent --help'
_cordon_test="--root=@dir --config=@file --print-config --on-violation=fail|report --report=@file
$_cordon_run"
_cordon_audit='--strict --json --sarif --help'
_cordon_fs='--root=@dir --home-alias=@none --scratch=@dir --rootfs=@dir
--rustic-repo=@dir --host=@none --readonly --strict --no-xdev
--allow-hardlink --allow-symlink --leaf-links=act --unsafe --sync=none|data|full --json --log=@file
--stats --help'
_cordon_fs_methods='appendFile chmod constants copyFile cp dust exists fd find getListing link lockFile lstat mkdir
move ouch readFile readdir readlink realpath rename ripgrep rm rmdir rustic stat symlink
syncFsWatch truncate unlink utimes watch writeFile writeFileDelta'
_cordon_commands='run test audit call fs policy doctor help'
_cordon_policy_commands='show check normalize from-effects'

# The values of one option, for the word that is being written.
_cordon_value() {
    local kind=$1 word=$2 part parts
    COMPREPLY=()
    IFS='|' read -r -a parts <<<"$kind"
    for part in "${parts[@]}"; do
        case $part in
        @file) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word") ;;
        @dir) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$word") ;;
        @variable) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -e -- "$word") ;;
        @none) ;;
        "$word"*) COMPREPLY+=("$part") ;;
        esac
    done
    case $kind in *@file* | *@dir*) compopt -o filenames 2>/dev/null ;; esac
}

# What `option` takes in the list `table`; fails if it takes nothing, or is none.
_cordon_kind() {
    local option=$1 entry entries
    read -r -d '' -a entries <<<"$2"
    for entry in "${entries[@]}"; do
        if [[ $entry == "$option="* ]]; then
            printf '%s\n' "${entry#*=}"
            return 0
        fi
    done
    return 1
}

# The methods of `cordon fs`, unless one of the words before is one: paths beneath a root follow.
_cordon_fs_method() {
    local word=$1 earlier
    shift
    for earlier; do
        [[ " ${_cordon_fs_methods//$'\n'/ } " != *" $earlier "* ]] || return 0
    done
    mapfile -t COMPREPLY < <(compgen -W "$_cordon_fs_methods" -- "$word")
}

_cordon() {
    # "--net=no" is one word for cordon, and three for readline.
    local words=() i word previous command='' table kind
    for ((i = 1; i <= COMP_CWORD; i++)); do
        words+=("${COMP_WORDS[i]}")
    done
    word=${COMP_WORDS[COMP_CWORD]}
    previous=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then
        word=''
    elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()

    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$_cordon_commands --help --version" -- "$word")
        return
    fi
    command=${words[0]}
    case $command in
    run) table=$_cordon_run ;;
    call) table=$_cordon_call ;;
    policy) table=$_cordon_policy ;;
    fs) table=$_cordon_fs ;;
    doctor) table=$_cordon_doctor ;;
    test) table=$_cordon_test ;;
    audit) table=$_cordon_audit ;;
    help)
        mapfile -t COMPREPLY < <(compgen -W "${_cordon_commands/ help/}" -- "$word")
        return
        ;;
    *) return ;;
    esac

    # Behind "--" stands the command that is to run.
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        if [[ ${words[i]} == -- ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 2))
            elif ((i == ${#words[@]} - 2)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                _cordon_value @file "$word"
            fi
            return
        fi
    done

    if kind=$(_cordon_kind "$previous" "$table"); then
        _cordon_value "$kind" "$word"
    elif [[ $word == -* ]]; then
        local names
        read -r -d '' -a names <<<"$table"
        mapfile -t COMPREPLY < <(compgen -W "${names[*]%%=*}" -- "$word")
    elif [[ $command == policy ]] && ((${#words[@]} == 2)); then
        mapfile -t COMPREPLY < <(compgen -W "$_cordon_policy_commands" -- "$word")
    elif [[ $command == fs ]]; then
        _cordon_fs_method "$word" "${words[@]:1:${#words[@]}-2}"
    elif [[ $command == policy || $command == audit ]]; then
        _cordon_value @file "$word"
    fi
}

complete -F _cordon cordon
