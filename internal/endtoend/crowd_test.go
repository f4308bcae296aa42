//go:build linux

package endtoend

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A thousand hosts with eight ranks each: the agents are real, the ranks are
// calls of functions in the processes that are the hosts.
func TestThousandHosts(t *testing.T) {
	if os.Getenv("GORUN_TEST_FULL") == "" {
		t.Skip("a thousand hosts take a minute of two cores: set GORUN_TEST_FULL=1")
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "github.com/gorun/gorun/internal/testhost/crowd").CombinedOutput()
	require.NoError(t, err, "%s", out)
	const hosts, slots = 1000, 8
	// run returns what the job printed, and how it ended. The launcher must
	// never take more than its share of memory.
	run := func(t *testing.T, words ...string) (stdout []byte, status int) {
		cmd := exec.Command(filepath.Join(dir, "crowd"), append([]string{
			"-n", strconv.Itoa(hosts), "-slots", strconv.Itoa(slots), "--",
			"sh", "-c", `exec "$0" -q -F "$TESTHOST_SSH_CONFIG" --node-timeout 60 "$@"`, filepath.Join(build(t), "gorun"),
		}, words...)...)
		var out, report bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &report
		err := cmd.Run()
		if _, ended := err.(*exec.ExitError); !ended {
			require.NoError(t, err)
		}
		found := regexp.MustCompile(`(\d+) MiB resident`).FindStringSubmatch(report.String())
		require.NotNil(t, found, "%s", &report)
		resident, _ := strconv.Atoi(found[1])
		require.Less(t, resident, 256, "MiB resident; %s", &report)
		t.Logf("%s", &report)
		return out.Bytes(), cmd.ProcessState.ExitCode()
	}
	t.Run("start and end", func(t *testing.T) {
		_, status := run(t, "true")
		require.Equal(t, 0, status)
	})
	t.Run("print", func(t *testing.T) {
		const each = 16 << 10
		printed, status := run(t, "true", "print", fmt.Sprint(each))
		require.Equal(t, 0, status)
		require.Len(t, printed, hosts*slots*each)
	})
	t.Run("fail while others wait", func(t *testing.T) {
		_, status := run(t, "-np", strconv.Itoa(hosts*slots-1), "true", "wait", ":", "-np", "1", "true", "fail")
		require.Equal(t, 3, status)
	})
}
