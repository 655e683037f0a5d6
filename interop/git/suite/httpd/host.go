package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// host serves the repositories below a directory as they are at the time.
type host struct {
	www string
	git *gitproc.Git

	mu    sync.Mutex
	shown map[string]*shown // by directory
}

// shown is what a repository had when it was looked at last, and how often that had changed before.
type shown struct {
	text       string
	generation uint64
}

// gitAt runs the machine's git for what the product keeps in its log, not in a repository.
func gitAt(dir string, in io.Reader, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"--git-dir", dir}, args...)...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", cmd, err, &errs)
	}
	return string(out), err
}

// Find reads the refs of a repository.
func (h *host) Find(of nip34.Address) (githttp.Repository, bool, error) {
	dir, ok := h.directory(of)
	if !ok {
		return githttp.Repository{}, false, nil
	}
	text, err := gitAt(dir, nil, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")
	if err != nil {
		return githttp.Repository{}, false, err
	}
	head, _ := gitAt(dir, nil, "symbolic-ref", "-q", "HEAD")                                 // fails where it is detached
	hidden, _ := gitAt(dir, nil, "config", "--get-regexp", `^(transfer|receive)\.hiderefs$`) // fails where there are none
	refs := &gitwire.Refs{Head: strings.TrimSpace(head)}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if isHidden(f[0], hidden) {
			continue
		}
		r := gitwire.Ref{Name: f[0]}
		if r.ID, err = gitwire.ParseObjectID(f[1]); err != nil {
			return githttp.Repository{}, false, err
		}
		if len(f) > 2 {
			if r.Peeled, err = gitwire.ParseObjectID(f[2]); err != nil {
				return githttp.Repository{}, false, err
			}
		}
		refs.List = append(refs.List, r)
	}
	refs.Sort()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.shown[dir]
	if s == nil {
		s = &shown{}
		h.shown[dir] = s
	}
	if text += head + hidden; text != s.text {
		*s = shown{text, s.generation + 1}
	}
	return githttp.Repository{Dir: dir, Generation: s.generation, Refs: refs}, true, nil
}

// isHidden reports whether a ref is below one that the configuration hides: from everybody, as the product hides refs.
func isHidden(ref, config string) bool {
	for line := range strings.Lines(config) {
		_, prefix, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ref == prefix || strings.HasPrefix(ref, prefix+"/") {
			return true
		}
	}
	return false
}

// AwaitFiles has nothing to wait for.
func (h *host) AwaitFiles(context.Context, nip34.Address, uint64) error { return nil }

// Missing asks git.
func (h *host) Missing(dir string, ids []gitwire.ObjectID) (missing []gitwire.ObjectID, err error) {
	sizes, err := h.Sizes(context.Background(), dir, ids, "")
	for i, size := range sizes {
		if size < 0 {
			missing = append(missing, ids[i])
		}
	}
	return missing, err
}

// Unreached runs what the product runs.
func (h *host) Unreached(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) (unreached []gitwire.ObjectID, err error) {
	var out bytes.Buffer
	err = h.git.Run(ctx, gitproc.Unreached(), gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, In: strings.NewReader(list(ids)), Out: &out})
	for _, id := range ids {
		if strings.Contains(out.String(), id.String()) {
			unreached = append(unreached, id)
		}
	}
	return unreached, err
}

// Pack runs what the product runs.
func (h *host) Pack(ctx context.Context, dir string, f *gitwire.Fetch, party string, out io.Writer) error {
	return h.git.Run(ctx, gitproc.PackReachable(f.OfsDelta, f.IncludeTag, f.Filter),
		gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, In: strings.NewReader(list(f.Tips())), Out: out})
}

// Upload runs what the product runs.
func (h *host) Upload(ctx context.Context, dir string, q gitwire.Request, party string, out io.Writer) error {
	return h.git.Run(ctx, gitproc.UploadPack(false),
		gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, Protocol: int(q.Version), In: bytes.NewReader(q.AppendTo(nil)), Out: out})
}

// Archive runs what the product runs.
func (h *host) Archive(ctx context.Context, dir string, commit gitwire.ObjectID, name, party string, out io.Writer) error {
	return h.git.Run(ctx, gitproc.Archive(commit, name), gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, Out: out})
}

// Bringing is of hosts whose data may be elsewhere.
func (h *host) Bringing(string) string { return "" }

// Sizes runs what the product runs.
func (h *host) Sizes(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]int64, error) {
	var out bytes.Buffer
	err := h.git.Run(ctx, gitproc.Measure(), gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, In: strings.NewReader(list(ids)), Out: &out})
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, len(ids))
	for line := range strings.Lines(out.String()) {
		size := int64(-1)
		if !strings.HasSuffix(line, " missing\n") {
			if _, err := fmt.Sscan(line, &size); err != nil {
				return nil, err
			}
		}
		sizes = append(sizes, size)
	}
	if len(sizes) != len(ids) {
		return nil, fmt.Errorf("%d sizes of %d objects", len(sizes), len(ids))
	}
	return sizes, nil
}

// list is a line for each id.
func list(ids []gitwire.ObjectID) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&b, id)
	}
	return b.String()
}
