package githttp_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestAnotherReaderHasThePackMade where the first one's party has to give way, or finds no place. What has begun goes on where it comes out the same. What
// does not, and what nobody else waits for, ends.
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
		"has begun":         {[]string{stranger, another}, "who", gitproc.ErrGaveWay, "198.51.100.7 198.51.100.8 ", true},
		"is all there":      {[]string{stranger, another}, "whole", gitproc.ErrGaveWay, "198.51.100.7 198.51.100.8 ", true},
		"differs":           {[]string{stranger, another, "198.51.100.9"}, "PACK", gitproc.ErrGaveWay, "198.51.100.7 198.51.100.8 ", false},
		"begins otherwise":  {[]string{stranger, another}, "PA", gitproc.ErrGaveWay, "198.51.100.7 198.51.100.8 ", false},
		"comes out shorter": {[]string{stranger, another}, "wholesale", gitproc.ErrGaveWay, "198.51.100.7 198.51.100.8 ", false},
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
					for i := 0; i < len(text); i += 2 {
						if _, err := io.WriteString(out, text[i:min(i+2, len(text))]); err != nil {
							return err
						}
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
					if text := r.all(); strings.HasSuffix(text, "later0000") || !strings.HasPrefix(text, frame("packfile\n")) {
						if c.whole {
							t.Errorf("%q", text)
						}
					} else if !c.whole || unpacked(t, text) != "whole" {
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
