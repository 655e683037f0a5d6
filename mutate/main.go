// Command mutate plants faults in the sync engine and in what keeps events safe
// on disk, one at a time, and names the test that catches each. A fault that no
// test catches is an error: the tests miss something, or the code does nothing.
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
	only := flag.String("only", "", "plant only the faults whose name or file contains this")
	tests := flag.String("run", "", "only the tests that match are to notice")
	root := flag.String("root", ".", "the module that they are planted in")
	flag.Parse()
	faults, err := parse(list)
	if err == nil {
		err = run(ctx, os.Stdout, *root, *tests, choose(faults, *only))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func choose(faults []fault, only string) (chosen []fault) {
	for _, f := range faults {
		if strings.Contains(f.name, only) || strings.Contains(f.file, only) {
			chosen = append(chosen, f)
		}
	}
	return chosen
}

// run plants each fault in the module at root and prints a line for each. Only
// the tests that match the expression have to notice.
func run(ctx context.Context, out io.Writer, root, tests string, faults []fault) error {
	if len(faults) == 0 {
		return errors.New("there is no such fault")
	}
	survived := 0
	for i, f := range faults {
		begun := time.Now()
		by, err := f.plant(ctx, root, tests)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
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
