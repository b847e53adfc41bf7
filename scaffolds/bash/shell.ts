// The shell that the calls share: each is a command of its own, and what a shell knows goes from one to the next.
import type { PlainCommand } from '../../domain/ports.ts';

/**
 * Takes the command from stdin and the state that the last call left from the file that it is given, and leaves the
 * next one however the command ends, unless it is killed or replaces the shell. The state is what can be written
 * down: directory, variables, umask, options; under bash also functions, aliases and shopt. What most depends on comes
 * first. Aliases act on the command alone: on no word of ours, and none of the state's. It is written in a substitution,
 * where bash has some options off: their flags are taken before it.
 */
const call = `exec 2>&1
__passband_command=$(cat; printf x)
__passband_command=\${__passband_command%x}
__passband_state=$1
set --
exec </dev/null
__passband_options() { :; }
__passband_write() {
  printf '__passband_options() {\\n'
  set +o
  set +eux
  case $__passband_flags in *e*) printf 'set -e\\n' ;; esac
  case $__passband_flags in *m*) printf 'set -m\\n' ;; esac
  [ -z "\${BASH_VERSION-}" ] || shopt -p expand_aliases
  printf '}\\n'
  unset -v __passband_command __passband_flags
  unset -f __passband_save __passband_write
  printf 'umask %s\\n' "$(\\umask)"
  __passband_rest=$PWD
  printf "command cd -- '"
  while :; do
    case $__passband_rest in
      *\\'*) printf "%s'\\\\\\\\''" "\${__passband_rest%%\\'*}"; __passband_rest=\${__passband_rest#*\\'} ;;
      *) break ;;
    esac
  done
  printf "%s' || __passband_lost=1\\n" "$__passband_rest"
  unset -v __passband_rest
  if [ -n "\${BASH_VERSION-}" ]; then
    shopt -p
    printf 'shopt -u expand_aliases\\n'
    declare -p
    declare -f
    declare -F
    alias -p
  else
    set
    export -p
  fi
  printf 'unset -v __passband_code\\n'
}
__passband_save() {
  unset -f __passband_save
  __passband_flags=$-
  __passband_text=$(__passband_write)
  set +eux
  if printf '%s\\n' "$__passband_text" >|"$1.new" && command -p mv -f -- "$1.new" "$1"; then :; else
    printf 'the state of this shell could not be kept: no room in %s?\\n' "\${1%/*}"
  fi
}
[ ! -f "$__passband_state" ] || . "$__passband_state" >/dev/null 2>&1
if [ -n "\${__passband_lost-}" ]; then
  __passband_lost=$PWD
  command cd -- "$(command pwd -P)"
  printf 'the directory %s is gone: this is %s\\n' "$__passband_lost" "$PWD"
fi
unset -v __passband_lost
trap "{ __passband_save '$__passband_state'; } 2>/dev/null" EXIT
eval "{ unset -v __passband_command; __passband_options; unset -f __passband_options; } 2>/dev/null
$__passband_command"
{ __passband_code=$?; __passband_save "$__passband_state"; } 2>/dev/null
\\exit "$__passband_code"
`;

/**
 * bash where the image has it, else its sh. The state lies in memory and is no part of the agent's work. Where there is
 * one it is the whole environment: a variable that was unset does not come back.
 */
const script = `dir=/dev/shm
[ -w "$dir" ] || dir=\${TMPDIR:-/tmp}
state=$dir/.passband-shell-$(id -u)
shell=$(command -v bash || command -v sh)
if [ -f "$state" ]; then exec env -i "$shell" -c "$1" "$shell" "$state"; fi
exec "$shell" -c "$1" "$shell" "$state"
`;

/** One call as a command of the sandbox: started once under its own id, whoever asks for it. */
export function shellCommand(
  command: string,
  { timeoutMs, outputLimitBytes }: { readonly timeoutMs: number; readonly outputLimitBytes: number },
): PlainCommand {
  return { argv: ['sh', '-c', script, 'sh', call], env: {}, timeoutMs, outputLimitBytes, stdin: command };
}
