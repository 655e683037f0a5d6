package gitwire_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// offer makes git offer what this package does.
var offer = []string{
	"-c", "uploadpack.allowFilter=true", "-c", "uploadpack.allowTipSHA1InWant=true", "-c", "uploadpack.allowReachableSHA1InWant=true",
	"-c", "uploadpack.allowRefInWant=true", "-c", "uploadpack.allowSidebandAll=true", "-c", "transfer.advertiseObjectInfo=true",
	"-c", "receive.advertisePushOptions=true",
}

// environment is one in which git behaves alike everywhere.
func environment(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
	}, more...)
}

// git runs git in dir and gives what it prints.
func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	out, errs, err := tryGit(dir, nil, stdin, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, errs)
	}
	return out
}

func tryGit(dir string, env []string, stdin string, args ...string) (out, errs string, err error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environment(env...), strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// emptyRepository is a bare one whose HEAD names a branch that there is not.
func emptyRepository(t testing.TB, head string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	git(t, "", "", "init", "-q", "--bare", "-b", strings.TrimPrefix(head, "refs/heads/"), dir)
	return dir
}

// randomRepository is a bare one with branches, tags of each sort and other refs. HEAD may name one of them or none.
func randomRepository(t testing.TB, r *rand.Rand) string {
	t.Helper()
	dir := emptyRepository(t, "refs/heads/"+[]string{"main", "b0/x", "none"}[r.IntN(3)])
	var in strings.Builder
	commits := 1 + r.IntN(6)
	fmt.Fprintf(&in, "blob\nmark :1\ndata 4\nblob\n")
	for i := range commits {
		fmt.Fprintf(&in, "commit refs/heads/main\nmark :%d\ncommitter a <a@example.org> %d +0000\ndata 1\n%d", 2+i, 1700000000+i, i)
		if i > 0 {
			fmt.Fprintf(&in, "\nfrom :%d", 1+i)
		}
		fmt.Fprintf(&in, "\nM 644 inline f%d\ndata 1\n%d\n", i%3, i)
	}
	commit := func() int { return 2 + r.IntN(commits) }
	for i := range r.IntN(5) {
		fmt.Fprintf(&in, "reset refs/heads/b%d/%s\nfrom :%d\n\n", i, []string{"x", "-y", "\u00fc", "x.y", "X"}[r.IntN(5)], commit())
	}
	mark := 100
	for i := range r.IntN(5) {
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&in, "reset refs/tags/l%d\nfrom :%d\n\n", i, commit())
		case 1:
			fmt.Fprintf(&in, "tag t%d\nmark :%d\nfrom :%d\ntagger a <a@example.org> 1700000000 +0000\ndata 1\nt\n", i, mark, commit())
			fmt.Fprintf(&in, "tag n%d\nfrom :%d\ntagger a <a@example.org> 1700000000 +0000\ndata 1\nn\n", i, mark)
			mark++
		case 2:
			fmt.Fprintf(&in, "tag o%d\nfrom :1\ntagger a <a@example.org> 1700000000 +0000\ndata 1\no\n", i)
		}
	}
	for range r.IntN(3) {
		fmt.Fprintf(&in, "reset refs/nostr/%064x\nfrom :%d\n\n", r.Uint64(), commit())
	}
	if r.IntN(8) == 0 {
		in.WriteString("reset refs/heads/main\nfrom 0000000000000000000000000000000000000000\n\n")
	}
	git(t, dir, in.String(), "fast-import", "--quiet", "--force")
	if r.IntN(2) == 0 {
		git(t, dir, "", "pack-refs", "--all")
	}
	return dir
}

// refsOf reads the refs as git tells them.
func refsOf(t testing.TB, dir string) *gitwire.Refs {
	t.Helper()
	refs := &gitwire.Refs{Head: strings.TrimSpace(git(t, dir, "", "symbolic-ref", "HEAD"))}
	out, errs, err := tryGit(dir, nil, "", "show-ref", "-d")
	if err != nil && (out != "" || errs != "") { // without refs it fails silently
		t.Fatal(err, errs)
	}
	for line := range strings.Lines(out) {
		text, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id := mustID(t, text)
		if _, peeled := strings.CutSuffix(name, "^{}"); peeled {
			refs.List[len(refs.List)-1].Peeled = id
			continue
		}
		refs.List = append(refs.List, gitwire.Ref{Name: name, ID: id})
	}
	refs.Sort()
	return refs
}

func mustID(t testing.TB, text string) gitwire.ObjectID {
	t.Helper()
	id, err := gitwire.ParseObjectID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// id is forty times the same digit.
func id(digit string) gitwire.ObjectID {
	id, err := gitwire.ParseObjectID(strings.Repeat(digit, 40))
	if err != nil {
		panic(err)
	}
	return id
}

func hexOf(digit string) string { return strings.Repeat(digit, 40) }

// frames writes lines as pkt-lines; "flush", "delim" and "end" are the special frames. Lines get no newline.
func frames(lines ...string) string {
	var dst []byte
	for _, line := range lines {
		switch line {
		case "flush":
			dst = pktline.AppendFlush(dst)
		case "delim":
			dst = pktline.AppendDelim(dst)
		case "end":
			dst = pktline.AppendResponseEnd(dst)
		default:
			dst = pktline.Append(dst, line)
		}
	}
	return string(dst)
}

// unframe is the opposite, as far as there are frames; what follows is the last element. Newlines stay.
func unframe(stream string) []string {
	in := strings.NewReader(stream)
	r := pktline.NewReader(in, int64(len(stream))+4)
	var lines []string
	for {
		kind, payload, err := r.Next()
		if err != nil {
			return append(lines, stream[r.Taken():])
		}
		lines = append(lines, map[pktline.Kind]string{pktline.Data: string(payload), pktline.Flush: "flush", pktline.Delim: "delim", pktline.ResponseEnd: "end"}[kind])
	}
}

// agentOf is what the git of this machine calls itself.
func agentOf(t testing.TB) string {
	t.Helper()
	dir := emptyRepository(t, "refs/heads/main")
	out, _, err := tryGit("", []string{"GIT_PROTOCOL=version=2"}, "", "upload-pack", "--http-backend-info-refs", dir)
	for _, line := range unframe(out) {
		if agent, ok := strings.CutPrefix(line, "agent="); ok {
			return strings.TrimSuffix(agent, "\n")
		}
	}
	t.Fatalf("git does not say what it is: %q, %v", out, err)
	return ""
}

// gitSince reports whether the git of this machine is of that version 2.x or newer.
func gitSince(t testing.TB, minor int) bool {
	t.Helper()
	var major, is int
	if _, err := fmt.Sscanf(git(t, "", "", "version"), "git version %d.%d", &major, &is); err != nil {
		t.Fatal(err)
	}
	return major > 2 || major == 2 && is >= minor
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, n)) }

// differ shows where two answers part.
func differ(t testing.TB, what, got, want string) {
	t.Helper()
	g, w := unframe(got), unframe(want)
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Errorf("%s: line %d: got %q, git %q", what, i, g[min(i, len(g)):], w[min(i, len(w)):])
			return
		}
	}
	t.Errorf("%s: the same lines in other frames", what)
}

func clone(refs *gitwire.Refs) *gitwire.Refs {
	return &gitwire.Refs{Head: refs.Head, List: slices.Clone(refs.List)}
}
