package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/test/corpus"
)

// TestTheCodePages: the pages of files and commits fit a phone.
func TestTheCodePages(t *testing.T) {
	home, commit := code(t)
	ctx := open(t, 1280, 900)
	for name, path := range map[string]string{
		"tree": "/tree/main", "deep": "/tree/main/src/deeper", "file": "/blob/main/src/main.go", "readme": "/blob/main/README.md", "commits": "/commits/main", "commit": "/commit/" + commit, "branches": "/branches",
		"tags": "/tags", "picture": "/blob/main/img/shot.svg", "missing": "/blob/main/none", "first": "/commit/" + commit + "?first",
	} {
		do(t, ctx, name, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(home+path), chromedp.WaitVisible("h1", chromedp.ByQuery))
		shoot(t, ctx, "code-"+name)
		do(t, ctx, "dark", chromedp.ActionFunc(scheming("dark")))
		shoot(t, ctx, "code-"+name+"-dark")
		do(t, ctx, "light", chromedp.ActionFunc(scheming("light")))
		var wide bool
		do(t, ctx, "narrow", chromedp.EmulateViewport(360, 740), chromedp.Evaluate(`document.documentElement.scrollWidth > 360`, &wide))
		if wide {
			t.Errorf("%s is wider than a phone", name)
		}
		shoot(t, ctx, "code-"+name+"-narrow")
	}
}

// code is the address of the page of a repository with files, and its newest commit.
func code(t *testing.T) (home, commit string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(repotest.Commit("main", "Begin the tool\n\nIt does nothing yet.", 1_700_000_000, "",
		"100644 README.md", "# The tool\n\nIt *does* things. See [the guide](docs/guide.md), and the picture:\n\n![a shot](img/shot.svg)\n\n> [!NOTE]\n> Mind the **step**.\n\n- [x] begun\n- [ ] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nWith a footnote[^1].\n\n```go\nfunc main() {}\n```\n\n[^1]: Here.\n",
		"100644 docs/guide.md", "# Guide\n\nشرح بالعربية\n", "100644 img/shot.svg", `<svg xmlns="http://www.w3.org/2000/svg" width="300" height="80"><rect width="300" height="80" fill="#8ac"/></svg>`,
		"100644 src/main.go", "// Package main begins.\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\", 42)\n}\n", "100755 run", "#!/bin/sh\n", "120000 link", "src/main.go", "100644 ファイル.txt", "x\n",
		"100644 src/deeper/"+strings.Repeat("a-long-name-", 12)+".go", "package deeper\n", "160000 vendor", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"))
	for i := range 40 {
		b.WriteString(repotest.Commit("main", fmt.Sprintf("src: change number %d, with a subject that says what it does and why", i), 1_700_000_000+i*40_000, "",
			"100644 src/main.go", fmt.Sprintf("// Package main begins.\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\", %d, %q)\n}\n", i, strings.Repeat("long ", 40)), fmt.Sprintf("100644 src/f%d.go", i), "package main\n"))
	}
	b.WriteString(repotest.Commit("feature/a-branch", "On a branch", 1_702_000_000, "main", "100644 x", "x\n") + "reset refs/tags/v1.0\nfrom refs/heads/main\n\n")
	r := repotest.New(t, b.String())
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Dir: t.TempDir(), Service: service, Info: nip11.Document{Name: "Our relay"}})
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.Rules{Service: service}
	n.Front.Handle(repopage.New(repopage.Config{Store: n.Store, Service: service, Rules: func() policy.Rules { return rules }, Code: gitread.New(r.Disk, nil),
		Find: func(nip34.Address) (repopage.Repository, bool, error) {
			return repopage.Repository{Dir: r.At.String(), Refs: r.Refs()}, true, nil
		}}).Route())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, node.Listeners{Public: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	now := time.Now().Unix()
	source := n.Door.Source(ingest.SourceConfig{Label: "test", Direct: true})
	for e := range corpus.Generate(corpus.Options{Seed: 3, Repositories: 1, Since: now - 86_400, Until: now, Relays: []string{"wss://relay.example.org"}}).Events() {
		done := make(chan struct{})
		if err := source.Submit(ctx, e, store.Direct, func(policy.Verdict) { close(done) }); err != nil {
			t.Fatal(err)
		}
		<-done
		if e.Kind == nip34.KindRepository {
			d, _ := e.Tags.First("d")
			home = "http://" + l.Addr().String() + "/" + nip19.Npub(e.PubKey) + "/" + grasp.Escape(d) + ".git"
		}
	}
	return home, r.ID("main").String()
}

// scheming has the browser prefer light or dark pages.
func scheming(scheme string) func(context.Context) error {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}).Do
}
