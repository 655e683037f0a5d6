package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// most is how large a pack may be.
const most = 512 << 20

// Push takes a pack as the product does, without a quarantine, and then lets git change its refs.
func (h *host) Push(ctx context.Context, c githttp.PushCall) githttp.PushResult {
	dir, _ := h.directory(c.Of) // Find has found it
	fail := func(err error) githttp.PushResult {
		return githttp.PushResult{Unpack: err.Error(), Outcomes: c.Push.RefuseAll("unpacker error")}
	}
	if len(c.Push.Shallows) > 0 {
		return githttp.PushResult{Outcomes: c.Push.RefuseAll("shallow update not allowed")}
	}
	if c.Push.NeedsPack() {
		err := h.git.Run(ctx, gitproc.IndexPack(most), gitproc.Run{Kind: gitproc.Upload, Party: c.From,
			At: gitproc.Dirs{Repository: dir, Objects: filepath.Join(dir, "objects")}, In: c.Pack, Out: io.Discard})
		if err != nil {
			return fail(err)
		}
	}
	if err := h.whole(ctx, dir, c); err != nil {
		return fail(err)
	}
	var all strings.Builder
	for _, command := range c.Push.Commands {
		fmt.Fprintln(&all, command.Old, command.New, command.Ref)
	}
	fine, said := hook(dir, all.String(), "pre-receive")
	if !fine {
		return githttp.PushResult{Outcomes: c.Push.RefuseAll("pre-receive hook declined"), Lines: said}
	}
	if c.Push.Atomic {
		return atomically(dir, c.Push)
	}
	out := githttp.PushResult{Lines: said}
	for _, command := range c.Push.Commands {
		refused := "hook declined"
		fine, said := hook(dir, "", "update", command.Ref, command.Old.String(), command.New.String())
		out.Lines = append(out.Lines, said...)
		if fine {
			refused = update(dir, command)
		} else {
			out.Lines = append(out.Lines, "error: hook declined to update "+command.Ref)
		}
		out.Outcomes = append(out.Outcomes, gitwire.Outcome{Ref: command.Ref, Refused: refused})
	}
	return withInvalid(out, c.Push)
}

// hook runs a hook of the repository, if there is one, and reports whether it has nothing against the push, and what it says.
func hook(dir, input, name string, args ...string) (fine bool, lines []string) {
	cmd := exec.Command(filepath.Join(dir, "hooks", name), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), "GIT_DIR=."), strings.NewReader(input)
	said, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return err == nil || errors.Is(err, fs.ErrNotExist), lines
}

// whole proves that all that is pushed is here.
func (h *host) whole(ctx context.Context, dir string, c githttp.PushCall) error {
	var in bytes.Buffer
	for _, command := range c.Push.Commands {
		if !command.New.IsZero() {
			fmt.Fprintln(&in, command.New)
		}
	}
	return h.git.Run(ctx, gitproc.Reach(), gitproc.Run{Kind: gitproc.Upload, Party: c.From, At: gitproc.Dirs{Repository: dir}, In: &in, Out: io.Discard})
}

// update changes a ref as receive-pack does, and says why not.
func update(dir string, c gitwire.Command) string {
	head, _ := gitAt(dir, nil, "symbolic-ref", "-q", "HEAD") // fails where it is detached
	if c.New.IsZero() && strings.TrimSpace(head) == c.Ref {
		return "deletion of the current branch prohibited"
	}
	if deny, _ := gitAt(dir, nil, "config", "--bool", "receive.denyNonFastForwards"); strings.TrimSpace(deny) == "true" && !c.Old.IsZero() && !c.New.IsZero() {
		if _, err := gitAt(dir, nil, "merge-base", "--is-ancestor", c.Old.String(), c.New.String()); err != nil {
			return "non-fast-forward"
		}
	}
	if _, err := gitAt(dir, strings.NewReader(line(c)), "update-ref", "--stdin"); err != nil {
		return "failed to update ref"
	}
	return ""
}

// atomically changes all refs, or none.
func atomically(dir string, p *gitwire.Push) githttp.PushResult {
	var in strings.Builder
	for _, c := range p.Commands {
		in.WriteString(line(c))
	}
	if _, err := gitAt(dir, strings.NewReader(in.String()), "update-ref", "--stdin"); err != nil || len(p.Invalid) > 0 {
		return githttp.PushResult{Outcomes: p.RefuseAll("atomic transaction failed")}
	}
	out := githttp.PushResult{}
	for _, c := range p.Commands {
		out.Outcomes = append(out.Outcomes, gitwire.Outcome{Ref: c.Ref})
	}
	return out
}

// line is a command as update-ref reads it.
func line(c gitwire.Command) string {
	if c.New.IsZero() {
		return fmt.Sprintf("delete %s %s\n", c.Ref, c.Old)
	}
	return fmt.Sprintf("update %s %s %s\n", c.Ref, c.New, c.Old)
}

func withInvalid(r githttp.PushResult, p *gitwire.Push) githttp.PushResult {
	for _, c := range p.Invalid {
		r.Outcomes = append(r.Outcomes, gitwire.Outcome{Ref: c.Ref, Refused: c.Reason})
	}
	return r
}
