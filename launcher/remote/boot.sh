# Finds the program on this host, or has it sent, and becomes it. Before this
# text come assignments:
#
#	m       the marker that starts each of our messages
#	own     what uname -sm says where the launcher's own program runs
#	h n     hash and size of that program
#	doubt   not empty: a stored program is looked at before it runs
#	folders shell words, the folders that may keep the program, best first
#	agent   a function that becomes the program "$1"
#
# Standard input holds our half of the conversation:
#
#	system NAME         ->  HASH SIZE           the program for another system
#	need gzip|plain ID  ->  SIZE and its bytes  the program, as it is stored
#	                    ->  again               look again: it came to folder ID
#	fail REASON
#	start SSH_CONNECTION                        what follows is the program's
#
# Nothing is sent to us ahead of its question, so head may read more than it
# returns.
path=${PATH-/usr/bin:/bin}
PATH=$path:/usr/local/bin:/usr/bin:/bin
system=$(uname -sm)
if [ "$system" != "$own" ]; then
	echo "$m system $system"
	read -r h n || exit 69
fi
name=gorun-$h
why=

# safe says whether folder $1 is ours alone, so that nobody else can put a
# program there, and finds the size of the one that is there.
safe() {
	reason="is a symbolic link"
	[ -L "$1" ] && return 1
	reason="is not a folder"
	[ -d "$1" ] || return
	reason="belongs to somebody else"
	[ -O "$1" ] || return
	# Lines of: mode links owner group size month day time name. The first is
	# the folder's, whose name is a dot.
	set -- $(cd "$1" 2>/dev/null && LC_ALL=C ls -ldn . "$name" 2>/dev/null)
	reason="has mode ${1:-unknown}, expected drwx------"
	case $1 in drwx------*) ;; *) return 1 ;; esac
	while [ $# -gt 0 ] && [ "$1" != . ]; do shift; done
	stored=${6:-0}
}

# intact says whether "$1" is the program. Without a tool that tells it is not.
intact() {
	case $(sha256sum <"$1" 2>/dev/null) in "$h "*) ;; *) return 1 ;; esac
}

# look becomes the program if folder $1 has it. The launcher may close every
# pipe when it has read the last message, so that is the last we write.
look() {
	[ -x "$1/$name" ] && safe "$1" && [ "$stored" -eq "$n" ] || return
	[ -z "$doubt" ] || intact "$1/$name" || return
	echo "$m start" >&2
	echo "$m start $SSH_CONNECTION"
	PATH=$path
	agent "$1/$name"
}

# usable says whether folder $1 can keep a program, making it if need be. Of
# the folders above only the last is made: without a home there is no cache.
usable() {
	above=${1%/*}
	[ -d "$above" ] || { [ -d "${above%/*}" ] && mkdir -m 700 "$above" 2>/dev/null; }
	[ -d "$1" ] || mkdir -m 700 "$1" 2>/dev/null || [ -d "$1" ] || { reason="cannot be made"; return 1; }
	safe "$1" || return
	probe=$1/.probe-$m
	reason="cannot be written"
	{ echo "#!/bin/sh" >"$probe" && chmod 700 "$probe"; } 2>/dev/null || { rm -f "$probe"; return 1; }
	# Some shells answer [ -x ] from the mode alone.
	reason="is mounted noexec"
	"$probe" </dev/null 2>/dev/null
	set -- $?
	rm -f "$probe"
	return "$1"
}

# receive stores the program in folder $1. What cannot be stored is read all
# the same: the conversation goes on after it.
receive() {
	part=$1/.part-$m
	if [ "$pack" = gzip ]; then
		head -c "$size" | { gzip -dc >"$part"; cat >/dev/null; } 2>/dev/null
	else
		head -c "$size" | { cat >"$part"; cat >/dev/null; } 2>/dev/null
	fi
	got=$(wc -c 2>/dev/null <"$part")
	reason="has no room: stored ${got:-0} of $n bytes"
	if [ "${got:-0}" -eq "$n" ]; then
		reason="was given a damaged program"
		sum=$(command -v sha256sum >/dev/null && sha256sum <"$part")
		case $sum in
		"" | "$h "*) chmod 700 "$part" && mv -f "$part" "$1/$name" && return ;;
		esac
	fi
	rm -f "$part"
	return 1
}

# Folders with our uid in their names come last, and most hosts need not go so
# far as to ask for it.
uid=unknown
eval "set -- $folders"
for d; do
	case $d in *-unknown) ;; /*) look "$d" ;; esac
done
uid=$(id -u)
eval "set -- $folders"
for d; do
	case $d in /*-"$uid") look "$d" ;; esac
done
pack=plain
command -v gzip >/dev/null && pack=gzip
for d; do
	case $d in /*) ;; *) continue ;; esac
	if usable "$d"; then
		# The first to come gives the folder an id, by which hosts that share
		# it are known.
		(set -C; echo "$m" >"$d/id") 2>/dev/null
		id=
		read -r id 2>/dev/null <"$d/id"
		echo "$m need $pack ${id:-$m}"
		read -r size || exit 69
		if [ "$size" = again ]; then
			look "$d"
			echo "$m need $pack -"
			read -r size || exit 69
		fi
		receive "$d" && doubt= && look "$d"
	fi
	why="$why; $d $reason"
done
echo "$m fail ${why#; }"
exit 69
