package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/nostr"
)

// Refs of every repository of the demo.
const (
	branch = "refs/heads/main"
	tag    = "refs/tags/v0.1.0" // at the first commit
)

// history is the commits of a repository, which are one line.
type history []string

func (h history) tip() string { return h[len(h)-1] }

// refspecs are what a push of all of it names.
func (h history) refspecs() []string { return []string{h.tip() + ":" + branch, h[0] + ":" + tag} }

// state makes the tags of the state (kind 30618) after that push.
func (h history) state(d string) nostr.Tags {
	return nostr.Tags{{"d", d}, {"HEAD", "ref: " + branch}, {branch, h.tip()}, {tag, h[0]}}
}

// commits makes some histories in the bench, a directory that is not there yet.
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

// mark is what commit k of history i is called in a stream.
func mark(i, k int) string { return fmt.Sprintf(":%d", 1+1000*i+k) }

// stream is histories of those lengths as fast-import reads them.
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
