package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"graspd/internal/store"
)

// exportChunk is how many entries are read at once.
const exportChunk = 1000

// exportCommand writes the stored events in the order in which they were stored.
func exportCommand(ctx context.Context, args []string, io stdio, env lookup) (err error) {
	var c Config
	rest, problems, err := parse("export", c.dataSettings(), args, io, env)
	if err != nil {
		return err
	}
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("export takes no argument %q; it writes to standard output", a))
	}
	if len(problems) > 0 {
		return &usageError{problems}
	}
	s, err := c.openToRead()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p := meterOf(io, c.Quiet || isTerminal(io.out), "exporting")
	defer p.End()
	w := bufio.NewWriterSize(io.out, 1<<20)
	var done int64
	var after store.Seq
	var line []byte
	for ctx.Err() == nil {
		entries, _, err := s.Since(after, exportChunk)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if len(entries) == 0 {
			return w.Flush()
		}
		for _, x := range entries {
			after = x.Seq
			if x.Event == nil {
				continue
			}
			done++
			line = append(x.Event.AppendJSON(line[:0]), '\n')
			if _, err := w.Write(line); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
		p.Show(done, max(done, s.Stats().Events), done)
	}
	return errors.Join(w.Flush(), errors.New("export: interrupted"))
}
