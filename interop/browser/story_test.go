package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
	"github.com/graspd/graspd/interop/wire"
)

// TestStory: from an empty relay to a pull request that is merged by the commands that its page names, as people see it on a desktop and on a phone.
// Events and pushes are those that ngit makes. Where Caddy is installed, all of them come by TLS through it, with deploy/Caddyfile. STORY names the folder, seen from this one, of the pictures in docs/STORY.md.
func TestStory(t *testing.T) {
	s := newStory(t)
	s.see("empty", "/", 960, "main > section:nth-of-type(3)", "ngit init --grasp-server git.example.org --defaults", "git push", "None yet.")

	work := s.begin()
	s.see("repository", s.path, 1250, "body", "git clone https://git.example.org"+s.path, "README.md", "Olga Owner")

	pull := s.propose(work)
	at := s.path + "/pulls/" + nip19.Note(pull.ID)
	s.see("review", at, 1500, ".change", "merges cleanly", "2 files changed", "version 2", "hello, %s!")

	s.merge(at)
	s.see("merged", at, 760, "body", "merged", "All of it is in main.", "2 files changed")
	if out, err := exec.CommandContext(t.Context(), s.program, "status", "--admin", s.admin).CombinedOutput(); err != nil {
		t.Errorf("graspd status: %v\n%s", err, out)
	}
}

// story is a relay that begins empty, and two people.
type story struct {
	t             *testing.T
	page          context.Context
	home, path    string // where people reach the relay, and the path of the repository
	program       string // graspd
	admin         string // the relay's private listener
	trusted       string // the file with the authority of home's certificate; "" where that has none
	relay         *wire.Client
	owner, author nostr.SecretKey
	at            int64 // of the event before
	of            nostr.Tag
	dir           string // the owner's clone
}

var (
	listens = regexp.MustCompile(`listens on ws://(\S+)`)
	private = regexp.MustCompile(`status at (http://[^/]+)/`)
)

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, page: open(t, 1000, 760, chromedp.IgnoreCertErrors), owner: testkit.Key(1), author: testkit.Key(2), at: time.Now().Unix() - 3600, dir: filepath.Join(t.TempDir(), "greet")}
	s.program = filepath.Join(t.TempDir(), "graspd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", s.program, "./cmd/graspd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var log bytes.Buffer
	run := exec.Command(s.program, "serve", "--domain", "git.example.org", "--trusted-proxies", "127.0.0.1", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data", t.TempDir(), "--disk-floor", "0", "--sync=false")
	run.Stderr = &log
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(run.Process.Signal(os.Interrupt), run.Wait()); err != nil {
			t.Errorf("graspd: %v\n%s", err, log.String())
		}
	})
	at := ""
	for lines := bufio.NewScanner(out); (at == "" || s.admin == "") && lines.Scan(); {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			at = m[1]
		}
		if m := private.FindStringSubmatch(lines.Text()); m != nil {
			s.admin = m[1]
		}
	}
	s.home = "http://" + at
	authorities := s.front(at)
	if s.relay, err = wire.DialTrusting(t.Context(), "ws"+strings.TrimPrefix(s.home, "http"), authorities); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.relay.CloseNow)
	return s
}

// begin hosts a repository, and returns where its author has a clone.
func (s *story) begin() (clone string) {
	s.path = "/" + nip19.Npub(s.owner.PubKey()) + "/greet.git"
	s.of = nostr.Tag{"a", testkit.RepositoryAddress(s.owner, "greet")}
	s.git(filepath.Dir(s.dir), "init", "-q", "-b", "main", "greet")
	s.write(s.dir, "README.md", "# greet\n\nGreets people by name, in the language that they speak.\n\n```go\ngreet.Hello(\"Ann\")   // hello, Ann!\n```\n\n- [x] English\n- [ ] everything else\n")
	s.write(s.dir, "greet.go", "// Package greet greets people.\npackage greet\n\nimport \"fmt\"\n\n// Hello greets somebody.\nfunc Hello(name string) {\n\tfmt.Println(\"hello \" + name)\n}\n")
	s.commit(s.dir, "Greet people")
	s.publish(s.owner, nip34.KindRepository, "", nostr.Tag{"d", "greet"}, nostr.Tag{"name", "greet"}, nostr.Tag{"description", "Greets people by name"},
		nostr.Tag{"relays", "wss://git.example.org"}, nostr.Tag{"clone", "https://git.example.org" + s.path})
	s.push()
	s.publish(s.owner, nostr.KindMetadata, `{"name":"Olga Owner"}`)
	clone = filepath.Join(s.t.TempDir(), "clone")
	s.git(s.dir, "clone", "-q", "https://git.example.org"+s.path, clone)
	return clone
}

// push publishes what the owner's main is, and pushes it.
func (s *story) push() {
	s.publish(s.owner, nip34.KindState, "", nostr.Tag{"d", "greet"}, nostr.Tag{"HEAD", "ref: refs/heads/main"}, nostr.Tag{"refs/heads/main", s.tip(s.dir)})
	s.git(s.dir, "push", "-q", "https://git.example.org"+s.path, "main")
}

// propose opens a pull request, which its author changes once.
func (s *story) propose(clone string) (pull *nostr.Event) {
	base := s.tip(clone)
	offer := func(kind nostr.Kind, text string, more ...nostr.Tag) *nostr.Event {
		e := s.sign(s.author, kind, text, append(more, s.of, nostr.Tag{"c", s.tip(clone)}, nostr.Tag{"clone", "https://git.example.org" + s.path}, nostr.Tag{"merge-base", base})...)
		s.git(clone, "push", "-q", "origin", "HEAD:refs/nostr/"+e.ID.String())
		s.send(e)
		return e
	}
	s.git(clone, "checkout", "-qb", "pr/comma")
	s.write(clone, "greet.go", "// Package greet greets people.\npackage greet\n\nimport \"fmt\"\n\n// Hello greets somebody.\nfunc Hello(name string) {\n\tfmt.Printf(\"hello, %s!\\n\", name)\n}\n")
	s.commit(clone, "Say hello with a comma")
	pull = offer(nip34.KindPullRequest, "A greeting has a **comma** before the name.\n\n- [x] the comma\n- [x] a test", nostr.Tag{"subject", "Greet with a comma"}, nostr.Tag{"branch-name", "comma"})
	s.write(clone, "greet_test.go", "package greet\n\nfunc ExampleHello() {\n\tHello(\"Ann\")\n\t// Output: hello, Ann!\n}\n")
	s.commit(clone, "Test the greeting")
	offer(nip34.KindPullRequestUpdate, "", nostr.Tag{"E", pull.ID.String()}, nostr.Tag{"P", pull.PubKey.String()})
	e, k := nostr.Tag{"E", pull.ID.String()}, nostr.Tag{"K", "1618"}
	s.publish(s.owner, nostr.KindComment, "Thank you. Is there a *test* for it?", e, k, nostr.Tag{"e", pull.ID.String()}, nostr.Tag{"k", "1618"})
	s.publish(s.author, nostr.KindComment, "There is one in version 2.", e, k, nostr.Tag{"e", pull.ID.String()}, nostr.Tag{"k", "1618"})
	s.publish(s.author, nostr.KindMetadata, `{"name":"Ann Author"}`)
	return pull
}

// merge has the owner paste what the page of a pull request names, push, and say that it is done.
func (s *story) merge(at string) {
	s.t.Helper()
	var boxes []string
	do(s.t, s.page, "commands", chromedp.Navigate(s.home+at), chromedp.Evaluate(`[...document.querySelectorAll("pre.copy")].map(x => x.textContent)`, &boxes))
	for line := range strings.Lines(boxes[0]) {
		args := strings.Fields(line)
		if args[0] != "git" {
			s.t.Fatalf("the page names %q first", boxes[0])
		}
		s.git(s.dir, args[1:]...)
	}
	s.push()
	_, note, _ := strings.Cut(at, "/pulls/")
	id, err := nip19.ParseEvent(note)
	if err != nil {
		s.t.Fatal(err)
	}
	s.publish(s.owner, nip34.KindStatusApplied, "", nostr.Tag{"e", id.String(), "", "root"}, s.of, nostr.Tag{"merge-commit", s.tip(s.dir)})
}

// see requires that a page says some words, at the size of a desktop and of a phone, and takes a picture of both, of a height; on the phone from a
// part of the page on.
func (s *story) see(name, path string, height int64, from string, words ...string) {
	s.t.Helper()
	var sizes [2][]byte
	for i, size := range []struct {
		width int64
		from  string
	}{{1000, "body"}, {360, from}} {
		var text string
		var wide bool
		do(s.t, s.page, name, chromedp.EmulateViewport(size.width, height), chromedp.Navigate(s.home+path), chromedp.WaitVisible("h1", chromedp.ByQuery),
			chromedp.Evaluate(`document.body.innerText`, &text), chromedp.Evaluate(fmt.Sprintf(`document.documentElement.scrollWidth > %d`, size.width), &wide))
		for _, w := range words {
			if !strings.Contains(text, w) {
				s.t.Errorf("%s: the page does not say %q:\n%s", name, w, text)
			}
		}
		if wide {
			s.t.Errorf("%s is wider than %d", name, size.width)
		}
		do(s.t, s.page, "picture", chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).scrollIntoView()`, size.from), nil), emulation.SetScrollbarsHidden(true), chromedp.ActionFunc(func(ctx context.Context) (err error) {
			sizes[i], err = cdp.CaptureScreenshot().Do(ctx)
			return err
		}))
	}
	if dir := os.Getenv("STORY"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "story-"+name+".png"), smaller(s.t, beside(s.t, sizes[0], sizes[1])), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// beside is one picture to the left of another.
func beside(t *testing.T, pictures ...[]byte) []byte {
	t.Helper()
	const gap = 24
	var all []image.Image
	size := image.Rectangle{}
	for _, p := range pictures {
		img, err := png.Decode(bytes.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, img)
		size.Max.X, size.Max.Y = size.Max.X+img.Bounds().Dx()+gap, max(size.Max.Y, img.Bounds().Dy()+gap)
	}
	size.Max.X += gap
	size.Max.Y += gap
	out := image.NewRGBA(size)
	draw.Draw(out, size, image.NewUniform(color.RGBA{0x8c, 0x95, 0x9f, 0xff}), image.Point{}, draw.Src)
	x := gap
	for _, img := range all {
		draw.Draw(out, img.Bounds().Add(image.Pt(x, gap)), img, image.Point{}, draw.Src)
		x += img.Bounds().Dx() + gap
	}
	var b bytes.Buffer
	if err := png.Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s *story) sign(by nostr.SecretKey, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	s.at += 60
	return testkit.Sign(by, s.at, kind, content, tags...)
}

func (s *story) publish(by nostr.SecretKey, kind nostr.Kind, content string, tags ...nostr.Tag) {
	s.t.Helper()
	s.send(s.sign(by, kind, content, tags...))
}

// send publishes an event, which has to be taken.
func (s *story) send(e *nostr.Event) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	err := s.relay.Send(ctx, nostr.AppendEventMsg(nil, e))
	var m nostr.RelayMessage
	if err == nil {
		m, err = s.relay.Receive(ctx)
	}
	if ok, is := m.(nostr.OK); err != nil || !is || ok.ID != e.ID || !ok.OK {
		s.t.Fatalf("kind %d: %+v, %v", e.Kind, m, err)
	}
}

// git runs the machine's git; the relay's name leads to where it listens.
func (s *story) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-c", "url." + s.home + "/.insteadOf=https://git.example.org/"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_SSL_CAINFO="+s.trusted,
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org", "GIT_MERGE_AUTOEDIT=no")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *story) tip(dir string) string { s.t.Helper(); return s.git(dir, "rev-parse", "HEAD") }

func (s *story) write(dir, name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) commit(dir, subject string) {
	s.t.Helper()
	s.git(dir, "add", ".")
	s.git(dir, "commit", "-qm", subject)
}
