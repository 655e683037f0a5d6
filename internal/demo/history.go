package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Refs of every repository of the demo.
const (
	branch = "refs/heads/main"
	tag    = "refs/tags/v0.1.0" // stands at the first commit
)

// history has the commits of a repository, which form one line, the oldest first.
type history []string

func (h history) tip() string { return h[len(h)-1] }

// refspecs returns the refspecs of a push of the whole history.
func (h history) refspecs() []string { return []string{h.tip() + ":" + branch, h[0] + ":" + tag} }

// state makes the tags of the state (kind 30618) after a push of the whole history.
func (h history) state(d string) nostr.Tags {
	return nostr.Tags{{"d", d}, {"HEAD", "ref: " + branch}, {branch, h.tip()}, {tag, h[0]}}
}

// commits makes the directory of the bench, which must not exist yet, and n histories in it.
func (b bench) commits(ctx context.Context, n int, now int64) ([]history, error) {
	if err := os.Mkdir(string(b), 0o700); err != nil {
		return nil, err
	}
	if _, err := b.git(ctx, nil, "init", "--quiet", "--bare", "."); err != nil {
		return nil, err
	}
	lengths := make([]int, n)
	for i := range lengths {
		lengths[i] = 20 - i*7%18
	}
	marks := filepath.Join(string(b), "marks")
	if _, err := b.git(ctx, stream(lengths, now), "fast-import", "--quiet", "--export-marks="+marks); err != nil {
		return nil, err
	}
	made, err := os.ReadFile(marks)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]string)
	for line := range strings.Lines(string(made)) {
		if mark, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			ids[mark] = id
		}
	}
	out := make([]history, n)
	for i, length := range lengths {
		for k := range length {
			id := ids[mark(i, k)]
			if id == "" {
				return nil, fmt.Errorf("git fast-import made no commit %d of repository %d", k, i)
			}
			out[i] = append(out[i], id)
		}
	}
	return out, nil
}

// mark returns the mark of commit k of history i in a stream.
func mark(i, k int) string { return fmt.Sprintf(":%d", 1+1000*i+k) }

// stream writes histories of those lengths in the form that fast-import reads.
func stream(lengths []int, now int64) []byte {
	var b bytes.Buffer
	for i, length := range lengths {
		readme := fmt.Sprintf("Repository %d of the demo\n\n", i+1)
		for k := range length {
			subject := subjects[(i+k)%len(subjects)]
			readme += "- " + subject + "\n"
			fmt.Fprintf(&b, "commit refs/heads/%d\nmark %s\ncommitter Somebody <somebody@example.org> %d +0000\n", i, mark(i, k), now-int64(1000*(length-k)))
			fmt.Fprintf(&b, "data %d\n%s\n", len(subject), subject)
			if k > 0 {
				fmt.Fprintf(&b, "from %s\n", mark(i, k-1))
			}
			fmt.Fprintf(&b, "M 100644 inline README.md\ndata %d\n%s\n", len(readme), readme)
		}
	}
	return b.Bytes()
}
