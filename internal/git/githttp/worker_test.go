package githttp_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestAnotherReaderHasThePackMade where the first one's party has to give way before there is anything of it, or finds no place. What has begun, and what
// nobody else waits for, ends.
func TestAnotherReaderHasThePackMade(t *testing.T) {
	for name, c := range map[string]struct {
		from  []string // who asks for it
		wrote string
		err   error
		want  string // for whom it was made
		whole bool
	}{
		"gave way":          {[]string{stranger, another}, "", gitproc.ErrGaveWay, "198.51.100.7 198.51.100.8 ", true},
		"no place":          {[]string{stranger, stranger, another}, "", fmt.Errorf("git: %w", gitproc.ErrBusy), "198.51.100.7 198.51.100.8 ", true},
		"has begun":         {[]string{stranger, another}, "PACK", gitproc.ErrGaveWay, "198.51.100.7 ", false},
		"nobody else":       {[]string{stranger, stranger}, "", gitproc.ErrGaveWay, "198.51.100.7 ", false},
		"failed":            {[]string{stranger, another}, "", &gitproc.Error{}, "198.51.100.7 ", false},
		"others give way":   {[]string{"198.51.100.1", "198.51.100.2", "198.51.100.3", another}, "", gitproc.ErrGaveWay, "198.51.100.1 198.51.100.2 198.51.100.3 198.51.100.8 ", true},
		"too many give way": {[]string{"198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", another}, "", gitproc.ErrGaveWay, "198.51.100.1 198.51.100.2 198.51.100.3 198.51.100.4 ", false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
				asked := make(chan struct{})
				got := ""
				w.packFor = func(_ context.Context, party string, out io.Writer) error {
					<-asked
					got += party + " "
					text, err := c.wrote, c.err
					if party == another {
						text, err = "whole", nil
					}
					if text == "" {
						return err
					}
					if _, err := io.WriteString(out, text); err != nil {
						return err
					}
					return err
				}
				var all []*client
				for _, from := range c.from {
					all = append(all, w.fetch(t, from, &gitwire.Fetch{Version: 2}))
					synctest.Wait()
				}
				close(asked)
				for _, r := range all {
					if text := r.all(); (text == packed("whole")) != c.whole {
						t.Errorf("%q", text)
					}
				}
				if got != c.want {
					t.Errorf("made for %s", got)
				}
			})
		})
	}
}
