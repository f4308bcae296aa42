//go:build linux

package slurm

import (
	"fmt"
	"os"
	"strings"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// Conf is the path of Slurm's configuration on every host. Programs that are not
// started by [Cluster.Command] find it in the variable SLURM_CONF.
const Conf = folder + "/slurm.conf"

// Other paths on every host.
const (
	folder   = "/run/slurm"
	gresPath = folder + "/gres.conf"
	mungeKey = folder + "/munge.key"
	mungeDir = "/run/munge" // where Debian's clients look for the socket
	stateDir = folder + "/state"
	spoolDir = folder + "/spool"
)

// KillWait is how long after TERM Slurm kills what is left of a job, in
// seconds.
const KillWait = 3

// conf returns slurm.conf. Whatever Slurm would do now and then, it does at
// once here.
func (s *Cluster) conf() string {
	var b strings.Builder
	fmt.Fprintf(&b, `ClusterName=test
SlurmctldHost=%s(%v)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=%s
SlurmdSpoolDir=%s
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=%d
SlurmctldTimeout=60
SlurmdTimeout=60
ReturnToService=2
GresTypes=gpu
`, s.Head.Name, s.Head.Addr, stateDir, spoolDir, KillWait)
	for _, h := range s.Hosts {
		fmt.Fprintf(&b, "NodeName=%s NodeAddr=%v CPUs=%d State=UNKNOWN", h.Name, h.Addr, s.config.CPUs)
		if s.config.GPUs > 0 {
			fmt.Fprintf(&b, " Gres=gpu:%d", s.config.GPUs)
		}
		b.WriteByte('\n')
	}
	b.WriteString("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n")
	return b.String()
}

// gres returns gres.conf. A GPU is a device file; any will do.
func (s *Cluster) gres() string {
	var files []string
	for i := range s.config.GPUs {
		files = append(files, fmt.Sprintf("/dev/tty%d", i))
	}
	if files == nil {
		return ""
	}
	return "AutoDetect=off\nName=gpu File=" + strings.Join(files, ",") + "\n"
}

// writeFiles puts the configuration on a host.
func (s *Cluster) writeFiles(h *cluster.Host, key []byte) error {
	for _, dir := range []string{folder, mungeDir, stateDir, spoolDir} {
		if err := h.Root.MkdirAll(dir[1:], 0o755); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		path string
		data []byte
		mode os.FileMode
	}{
		{Conf, []byte(s.conf()), 0o644},
		{gresPath, []byte(s.gres()), 0o644},
		{mungeKey, key, 0o400}, // munged refuses a key that others can read
	} {
		if err := h.Root.WriteFile(f.path[1:], f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}
