package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/events/store"
)

// exportChunk is how many entries are read at once.
const exportChunk = 1000

// exportCommand writes the stored events in the order in which they were stored.
func exportCommand(ctx context.Context, args []string, io stdio, env environment) (err error) {
	var c Config
	problems, err := parseAlone("export", "; it writes to standard output", c.dataSettings(), args, env)
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	defer c.restoreOwner(&err)
	s, err := c.openToRead()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p := meterOf(io, c.Quiet || isTerminal(io.out), "exporting", "events")
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
