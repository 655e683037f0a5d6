package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

const (
	someNpub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
	someHex  = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
	someNsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
)

// file writes a file and returns its name.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "list")
	overwrite(t, name, text)
	return name
}

func overwrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLists(t *testing.T) {
	pk, err := nostr.ParsePubKey(someHex)
	if err != nil {
		t.Fatal(err)
	}
	other := testkit.Key(1).PubKey()
	c := Config{
		DenyPubKeys:  []string{"@" + file(t, "\ufeff# people\r\n\r\n"+someNpub+"   # one\r\n\t"+other.String()+"\r\n"+someHex), other.String()},
		AllowPubKeys: []string{someNpub},
		AllowRepositories: []string{"@" + file(t, "30617:"+someHex+":a#b\n"+someNpub+"/two words, or more # the second\n#"+someNpub+"\n "+
			other.String()+" \n"), someNpub + "/third"},
	}
	l, problems := c.lists()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(l.DenyPubKeys) != 2 || len(l.AllowPubKeys) != 1 || l.AllowRepositories.Len() != 4 || l.DenyRepositories.Len() != 0 {
		t.Errorf("%+v", l)
	}
	for _, d := range []string{"a#b", "two words, or more", "third"} {
		if _, ok := l.AllowRepositories.Addresses[nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: d}]; !ok {
			t.Errorf("no %q in %+v", d, l.AllowRepositories)
		}
	}
	if _, ok := l.AllowRepositories.Owners[other]; !ok {
		t.Errorf("%+v", l.AllowRepositories)
	}
	if l, problems = (&Config{DenyPubKeys: []string{"@" + file(t, "# nobody yet\n")}}).lists(); len(problems) > 0 || len(l.DenyPubKeys) != 0 {
		t.Errorf("an empty deny list: %v, %v", l, problems)
	}
}

func TestListsThatAreWrong(t *testing.T) {
	many := file(t, strings.Repeat("x\n", 1000))
	bad := file(t, someNpub+"\n\n# fine\nbob # a name\n")
	secret := file(t, someNsec+"\n")
	empty, binary := file(t, "# nobody\n"), file(t, someNpub+"\n\xff\xfe")
	for _, tc := range []struct {
		args []string
		want string
		n    int
	}{
		{[]string{"--deny-pubkeys", "@" + bad}, `--deny-pubkeys: ` + bad + `:4: "bob" is not allowed: want a public key`, 1},
		{[]string{"--allow-pubkeys", "bob"}, `--allow-pubkeys: "bob" is not allowed: want a public key`, 1},
		{[]string{"--allow-repositories", "proj," + someNpub}, `--allow-repositories: "proj" is not allowed: want a repository`, 1},
		{[]string{"--deny-repositories", "30618:" + someHex + ":x"}, `of kind 30618`, 1},
		{[]string{"--deny-pubkeys", someNpub[:62] + "x"}, "checksum", 1},
		{[]string{"--deny-pubkeys", "@/nonexistent/list"}, "--deny-pubkeys: open /nonexistent/list: no such file", 1},
		{[]string{"--deny-pubkeys", "@"}, "--deny-pubkeys: open : no such file", 1},
		{[]string{"--deny-pubkeys", "@" + t.TempDir()}, "is a directory", 1},
		{[]string{"--deny-pubkeys", "@" + many}, "--deny-pubkeys: 990 more problems", listProblems + 1},
		{[]string{"--deny-pubkeys", strings.Repeat("x", 100_000)}, `xxx" is not allowed`, 1},
		{[]string{"--deny-pubkeys", "@" + secret}, "secret key", 1},
		{[]string{"--deny-pubkeys", someNsec}, "secret key", 1},
		{[]string{"--allow-pubkeys", "@" + empty}, "--allow-pubkeys: the list is empty", 1},
		{[]string{"--allow-repositories", "@" + empty}, "--allow-repositories: the list is empty", 1},
		{[]string{"--deny-pubkeys", "@" + binary}, binary + ": not a text file", 1},
		{[]string{"--deny-pubkeys", "@/dev/zero"}, "/dev/zero: larger than 64 MiB", 1},
	} {
		for _, command := range []string{"serve", "import"} {
			args := append([]string{command, "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, tc.args...)
			if command == "import" {
				args = append(args, "-")
			}
			code, _, errs := call(t, "", nil, args...)
			if code != exitUsage || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != tc.n || len(errs) > 3000 || strings.Contains(errs, someNsec) {
				t.Errorf("%v: code %d, no %q in %.3000s", command, code, tc.want, errs)
			}
		}
	}
	code, _, errs := call(t, "", map[string]string{"GRASPD_DENY_PUBKEYS": "bob"}, "serve", "--data", t.TempDir(), "--listen", "0.0.0.0:0", "--allow-pubkeys", "eve")
	if code != exitUsage || strings.Count(errs, "\n") != 3 {
		t.Errorf("not all problems are told at once: %d %s", code, errs)
	}
}

// hangUp tells this process to reread its lists.
func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// refused publishes an event and requires that it is refused with that reason.
func (c *client) refused(e *nostr.Event, reason string) {
	c.t.Helper()
	c.send(nostr.AppendEventMsg(nil, e))
	if ok, is := c.next().(nostr.OK); !is || ok.OK || ok.ID != e.ID || !strings.HasPrefix(ok.Reason, reason) {
		c.t.Fatalf("publish: %+v", ok)
	}
}

// A reread needs no restart: who is on the list no more is taken and asked for elsewhere at once, who is new on it is not. A
// list with a mistake leaves all as it was.
func TestListsAreRereadOnHangup(t *testing.T) {
	source := testkit.Serve(t)
	now := time.Now().Unix()
	owner, spammer := testkit.Key(1), testkit.Key(2)
	ann := testkit.Announcement(owner, now-100, "proj", "wss://relay.example.org", string(source.URL))
	issue := func(n int) *nostr.Event {
		return testkit.Issue(spammer, now, testkit.RepositoryAddress(owner, "proj"), fmt.Sprint("number ", n))
	}
	elsewhere := issue(0)
	source.Add(ann, elsewhere)
	list := file(t, spammer.PubKey().String()+"\n")
	us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms",
		"--deny-pubkeys", "@"+list)
	c, watch := dial(t, us.url), dial(t, us.url)
	watch.send(nostr.AppendReq(nil, "sub", nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository, nip34.KindIssue}}))
	watch.awaitEvent(ann)
	const denied = "blocked: this relay does not take events by this author"
	c.refused(issue(1), denied)

	overwrite(t, list, "bob\n"+spammer.PubKey().String()+"\n")
	hangUp(t)
	us.logs.await(t, list+`:1: (.*)not allowed`)
	us.logs.await(t, `the settings stay as they were`)
	c.refused(issue(2), denied)

	overwrite(t, list, "# nobody\n")
	hangUp(t)
	us.logs.await(t, `settings reread.* deny_pubkeys=0`)
	c.publish(issue(3))
	watch.awaitEvent(elsewhere)

	hangUp(t)
	us.logs.await(t, `settings reread: what is accepted is the same`)
	overwrite(t, list, spammer.PubKey().String())
	hangUp(t)
	us.logs.await(t, `settings reread.* deny_pubkeys=1`)
	c.refused(issue(4), denied)
	us.logs.await(t, `taken away by the operator.* subject="author `+spammer.PubKey().String())
	if c.stored(issue(3)) || c.stored(elsewhere) || !c.stored(ann) {
		t.Error("what is denied is served, or more has gone")
	}
	meanwhile := issue(5)
	source.Add(meanwhile)
	overwrite(t, list, "# nobody\n")
	hangUp(t)
	us.logs.await(t, `put back by the operator`)
	watch.awaitEvent(meanwhile)
	if !c.stored(issue(3)) {
		t.Error("what is denied no more is not back")
	}
}

// Nobody learns from the information document who is on a list.
func TestListsAreNotTold(t *testing.T) {
	for _, flag := range []string{"--allow-pubkeys", "--deny-pubkeys", "--allow-repositories", "--deny-repositories"} {
		us := serve(t, "--data", t.TempDir(), flag, someNpub)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(string(us.url), "ws"), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", nip11.ContentType)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || strings.Contains(string(b), someNpub) || strings.Contains(string(b), someHex) {
			t.Errorf("%s: %s, %v", flag, b, err)
		}
		chosen := strings.Contains(string(b), "chosen by the operator")
		if !strings.Contains(string(b), `"restricted_writes":true`) || chosen != strings.HasPrefix(flag, "--allow") {
			t.Errorf("%s: %s", flag, b)
		}
		us.stop()
	}
}

// An import into another directory drops what the lists do not take.
func TestImportKeepsToTheLists(t *testing.T) {
	now := time.Now().Unix()
	owner, spammer := testkit.Key(1), testkit.Key(2)
	var lines []byte
	for _, e := range []*nostr.Event{
		testkit.Announcement(owner, now-100, "proj", "wss://relay.example.org"),
		testkit.Issue(spammer, now, testkit.RepositoryAddress(owner, "proj"), "spam"),
	} {
		lines = append(e.AppendJSON(lines), '\n')
	}
	code, out, errs := call(t, string(lines), nil, "import", "--data", t.TempDir(), "--domain", "relay.example.org", "--disk-floor", "0",
		"--deny-pubkeys", spammer.PubKey().String(), "-")
	if code != exitOK || !strings.Contains(out, "stored 1, known before 0, refused by the rules 1") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}
