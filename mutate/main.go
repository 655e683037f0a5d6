// Command mutate plants faults in the program, one at a time, and names the test that catches each. A fault that no test
// catches is an error: the tests miss something, or the code does nothing. The faults stand in faults/, a file per package.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only := flag.String("only", "", "plant only the faults of this package, or whose name contains this")
	fresh := flag.Bool("new", false, "plant only the faults that no test is known to catch")
	tests := flag.String("run", "", "only the tests that match are to notice")
	root := flag.String("root", ".", "the module that they are planted in")
	flag.Parse()
	w, err := newWork(*root, *tests)
	if err == nil {
		err = w.run(ctx, os.Stdout, w.choose(*only, *fresh))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// work is what is to be done.
type work struct {
	root, tests string
	faults      []fault
}

func newWork(root, tests string) (*work, error) {
	faults, err := readList(root)
	if err != nil {
		return nil, err
	}
	return &work{root, tests, faults}, check(root, faults)
}

func (w *work) choose(only string, fresh bool) (chosen []fault) {
	for _, f := range w.faults {
		if (strings.Contains(f.name, only) || f.pkg == only) && !(fresh && f.caught != "") {
			chosen = append(chosen, f)
		}
	}
	return chosen
}

// run plants each fault and prints a line for each. Only the tests that match the expression have to notice. Which one did
// is noted in the list each time, so that a run that is cut short is not for nothing.
func (w *work) run(ctx context.Context, out io.Writer, faults []fault) error {
	if len(faults) == 0 {
		return errors.New("there is no such fault")
	}
	survived := 0
	for i, f := range faults {
		begun := time.Now()
		by, err := f.plant(ctx, w.root, w.tests)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if by != f.caught {
			if err := f.note(w.root, by); err != nil {
				return err
			}
		}
		if by == "" {
			survived++
			by = "NOT CAUGHT"
		}
		fmt.Fprintf(out, "%3d/%d  %-64s %s (%.0f s)\n", i+1, len(faults), f.name, by, time.Since(begun).Seconds())
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d faults are not caught by any test", survived, len(faults))
	}
	fmt.Fprintf(out, "all %d faults are caught\n", len(faults))
	return nil
}
