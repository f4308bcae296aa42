// Mnist learns to read handwritten digits, data-parallel: each rank computes
// the gradient on its share of every batch, one all-reduce sums the shares,
// and all ranks take the same step, so that their replicas of the network stay
// equal to the last bit, which is verified at the end.
//
//	gorun -np 4 ./mnist
//
// It also runs without a launcher, as the only rank.
//
// # Data
//
// The four gzipped files of MNIST are read by rank 0, from the folder data
// beside the program, from the program's own folder, or from where -data says,
// and broadcast; other hosts need no files.
//
// # Reproducibility
//
// The weights depend on the flags, the data and the number of ranks; not on
// how ranks are spread over hosts, nor on timing. With -deterministic=false
// the all-reduce may add in whichever order is quickest. Hosts of different
// architecture agree with one another in one job, but a job on others need not
// end with the same bits; see addProduct.
//
// # Failure
//
// A rank that fails aborts the communicator, so that all ranks end with its
// reason. With -checkpoint rank 0 saves the training after every epoch, and
// with -resume a restarted job goes on from there to the same weights.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"time"

	"github.com/gorun/gorun/nccl"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mnist: ")
	conf, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.Print(err)
		os.Exit(2)
	}
	if err := start(context.Background(), conf, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A config is what the flags say.
type config struct {
	settings
	data          string // folder; "": beside the program
	checkpoint    string // file; "": none
	resume        bool
	deterministic bool
}

// parseFlags returns what args say, and writes usage to w if they ask for it.
func parseFlags(args []string, w io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("mnist", flag.ContinueOnError)
	flags.StringVar(&c.data, "data", "", "`folder` of the four MNIST files (default: data beside the program, or beside it)")
	flags.IntVar(&c.epochs, "epochs", 5, "passes over the training images")
	flags.IntVar(&c.batch, "batch", 256, "images a step, over all ranks")
	flags.Float64Var(&c.rate, "lr", 0.3, "learning rate of the first step; it falls to zero")
	flags.Uint64Var(&c.seed, "seed", 1, "of the first weights and of the order of the images")
	flags.StringVar(&c.checkpoint, "checkpoint", "", "`file` that rank 0 writes after every epoch")
	flags.BoolVar(&c.resume, "resume", false, "go on from the checkpoint, if there is one")
	flags.BoolVar(&c.deterministic, "deterministic", true, "add gradients in an order that depends on the number of ranks alone")

	flags.SetOutput(io.Discard) // the error is the caller's to print
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(w, "usage: mnist [flags]")
		flags.SetOutput(w)
		flags.PrintDefaults()
		return config{}, err
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q; mnist takes flags only", flags.Arg(0))
	}
	if err == nil && c.resume && c.checkpoint == "" {
		err = errors.New("-resume needs -checkpoint")
	}
	return c, errors.Join(err, c.validate())
}

// start joins the job's other ranks and works with them.
func start(ctx context.Context, conf config, w io.Writer) error {
	comm, err := nccl.Init(ctx, &nccl.Config{Deterministic: conf.deterministic})
	if err != nil {
		return err
	}
	if err := work(ctx, comm, conf, w); err != nil {
		comm.Abort(err) // the other ranks wait for this one somewhere
		return err
	}
	return comm.Close()
}

// work is one rank's whole work. Rank 0 reports on w. Collective.
func work(ctx context.Context, comm *nccl.Comm, conf config, w io.Writer) error {
	if comm.Rank() != 0 {
		w = io.Discard
	}
	began := time.Now()
	data, err := replicate(ctx, comm, func() (*dataset, error) {
		dir, err := findDataset(conf.data)
		if err != nil {
			return nil, err
		}
		return readDataset(dir)
	})
	if err != nil {
		return err
	}
	st := newState(digits)
	if comm.Rank() == 0 {
		if st, err = firstState(conf); err != nil {
			return err
		}
	}
	if err := replicateState(ctx, comm, st); err != nil {
		return err
	}
	fmt.Fprintf(w, "ranks %d, training images %d, test images %d, parameters %d\n",
		comm.Size(), data.train.count(), data.test.count(), len(st.params))
	if st.epochs > 0 {
		fmt.Fprintf(w, "going on after epoch %d\n", st.epochs)
	}

	t := newTrainer(comm, conf.settings, digits, data, st)
	err = t.run(ctx, func(e epoch) error {
		fmt.Fprintf(w, "epoch %d/%d  loss %.4f  test accuracy %.2f%%  %.0f images/s\n",
			e.number, conf.epochs, e.loss, 100*e.accuracy, float64(e.images)/e.elapsed.Seconds())
		if comm.Rank() != 0 || conf.checkpoint == "" {
			return nil
		}
		return writeCheckpoint(conf.checkpoint, digits, st)
	})
	if err != nil {
		return err
	}
	// Once more, for a training that was resumed after its last epoch.
	accuracy, err := t.accuracy(ctx)
	if err != nil {
		return err
	}
	weights := digestOf(st.params)
	if err := verifyReplicas(ctx, comm, weights); err != nil {
		return err
	}
	fmt.Fprintf(w, "weights sha256 %v on every rank\n", weights)
	fmt.Fprintf(w, "test accuracy %.2f%% after %d epochs in %.1f s\n", 100*accuracy, st.epochs, time.Since(began).Seconds())
	return nil
}

// firstState returns the state to start from: that of the checkpoint if there
// is one to resume, else random weights.
func firstState(conf config) (*state, error) {
	if conf.resume {
		st, err := readCheckpoint(conf.checkpoint, digits)
		if !errors.Is(err, fs.ErrNotExist) {
			return st, err
		}
	}
	st := newState(digits)
	digits.initialize(st.params, conf.seed)
	return st, nil
}
