package launcher

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/remote"
)

// choose returns the entries that are left without those that the job does not
// want, wherever they came from.
func (j *Job) choose(entries []hostfiles.Host) ([]hostfiles.Host, error) {
	left, err := hostfiles.Exclude(entries, j.Exclude)
	if err != nil {
		return nil, fmt.Errorf("--exclude: %w", err)
	}
	if j.NoLocal {
		if left = slices.DeleteFunc(left, remote.IsLocal); len(left) == 0 {
			return nil, errors.New("--nolocal: expected a host beside this one, found none")
		}
	}
	switch {
	case j.Nodes < 0:
		return nil, fmt.Errorf("--nnodes: expected at least 1 host, found %d", j.Nodes)
	case j.Nodes > len(left):
		return nil, fmt.Errorf("--nnodes: %d hosts asked for, %d given", j.Nodes, len(left))
	case j.Nodes > 0:
		left = left[:j.Nodes]
	}
	return left, nil
}
