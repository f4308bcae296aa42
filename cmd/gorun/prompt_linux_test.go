package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSecretsAreNotEchoed(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer master.Close()
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer tty.Close()
	echo := func() bool {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		require.NoError(t, err)
		return state.Lflag&unix.ECHO != 0
	}

	require.True(t, echo())
	for _, want := range []bool{false, true} {
		restore, err := prepare(tty, want)
		require.NoError(t, err)
		require.Equal(t, want, echo())
		restore()
		require.True(t, echo())
	}
}
