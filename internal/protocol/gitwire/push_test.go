package gitwire_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestPushes(t *testing.T) {
	zero, one, two := hexOf("0"), hexOf("1"), hexOf("2")
	long := "refs/heads/" + strings.Repeat("x", 300)
	for _, c := range []struct {
		name, body string
		want       gitwire.Push
		again      string // "" for body
		pack       bool
	}{
		{"git's push", frames(zero+" "+one+" refs/heads/main\x00 report-status-v2 side-band-64k quiet atomic object-format=sha1 agent=git/2.39.5", one+" "+two+" refs/tags/v1", "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("0"), id("1")}, {"refs/tags/v1", id("1"), id("2")}}, Report: gitwire.ReportStatusV2, Sideband: true, Quiet: true, Atomic: true, Agent: "git/2.39.5"}, "", true},
		{"git's deletion", frames(one+" "+zero+" refs/heads/main\x00 report-status object-format=sha1", two+" "+zero+" refs/heads/x", "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("1"), id("0")}, {"refs/heads/x", id("2"), id("0")}}, Report: gitwire.ReportStatus}, "", false},
		{"libgit2's push", frames(zero+" "+one+" refs/nostr/"+strings.Repeat("ab", 32)+"\x00 report-status side-band-64k agent=git/2.0 (libgit2 1.9.7)\n", "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/nostr/" + strings.Repeat("ab", 32), id("0"), id("1")}}, Report: gitwire.ReportStatus, Sideband: true, Agent: "git/2.0"},
			frames(zero+" "+one+" refs/nostr/"+strings.Repeat("ab", 32)+"\x00 report-status side-band-64k object-format=sha1 agent=git/2.0", "flush"), true},
		{"no words", frames(zero+" "+one+" refs/heads/main", "flush"), gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("0"), id("1")}}},
			frames(zero+" "+one+" refs/heads/main\x00 object-format=sha1", "flush"), true},
		{"both reports", frames(zero+" "+one+" refs/heads/main\x00report-status-v2 report-status", "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("0"), id("1")}}, Report: gitwire.ReportStatusV2}, frames(zero+" "+one+" refs/heads/main\x00 report-status-v2 object-format=sha1", "flush"), true},
		{"from a shallow clone", frames("shallow "+two, "shallow "+one+"\n", "shallow "+two, zero+" "+one+" refs/heads/main\x00 report-status object-format=sha1", "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("0"), id("1")}}, Shallows: []gitwire.ObjectID{id("2"), id("1")}, Report: gitwire.ReportStatus},
			frames("shallow "+two+"\n", "shallow "+one+"\n", zero+" "+one+" refs/heads/main\x00 report-status object-format=sha1", "flush"), true},
		{"with options", frames(zero+" "+one+" refs/heads/main\x00 push-options object-format=sha1", "flush", "ci.skip", "a=b\n\n", "", "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("0"), id("1")}}, WithPushOptions: true, Options: []string{"ci.skip", "a=b\n", ""}},
			frames(zero+" "+one+" refs/heads/main\x00 push-options object-format=sha1", "flush", "ci.skip\n", "a=b\n\n", "\n", "flush"), true},
		{"names that no rule could allow", frames(zero+" "+one+" HEAD\x00 object-format=sha1", zero+" "+one+" refs/heads/main", zero+" "+one+" refs/heads/a..b", one+" "+zero+" refs/heads/-x", zero+" "+zero+" "+long, "flush"),
			gitwire.Push{Commands: []gitwire.Command{{"refs/heads/main", id("0"), id("1")}}, Invalid: []gitwire.Invalid{
				{gitwire.Command{"HEAD", id("0"), id("1")}, `'HEAD' does not begin with refs/`}, {gitwire.Command{"refs/heads/a..b", id("0"), id("1")}, `'refs/heads/a..b' is no ref name that git takes`},
				{gitwire.Command{"refs/heads/-x", id("1"), id("0")}, `'refs/heads/-x' begins with a dash after refs/heads/`},
				{gitwire.Command{long, id("0"), id("0")}, "the ref name '" + long[:200] + "' has 311 bytes, 250 at most"},
			}},
			frames(zero+" "+one+" refs/heads/main\x00 object-format=sha1", zero+" "+one+" HEAD", zero+" "+one+" refs/heads/a..b", one+" "+zero+" refs/heads/-x", zero+" "+zero+" "+long, "flush"), true},
		{"a name that no rule could allow, and a pack", frames(zero+" "+one+" HEAD\x00 object-format=sha1", "flush"),
			gitwire.Push{Invalid: []gitwire.Invalid{{gitwire.Command{"HEAD", id("0"), id("1")}, `'HEAD' does not begin with refs/`}}}, "", true},
		{"git's probe", "0000", gitwire.Push{}, "", false},
		{"nothing", "", gitwire.Push{}, "0000", false},
		{"nothing from a shallow clone", frames("shallow "+one+"\x00 report-status side-band-64k push-options agent=x", "flush"), gitwire.Push{Shallows: []gitwire.ObjectID{id("1")}}, frames("shallow "+one+"\n", "flush"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := strings.NewReader(c.body + "PACK")
			if c.name == "nothing" {
				in = strings.NewReader("")
			}
			got, err := gitwire.ParsePush(iotest.OneByteReader(in))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got %+v\nnot %+v", *got, c.want)
			}
			if rest, _ := io.ReadAll(in); string(rest) != "PACK" && c.name != "nothing" {
				t.Errorf("%q is left", rest)
			}
			if c.again == "" {
				c.again = c.body
			}
			if again := string(got.AppendTo([]byte("before"))); again != "before"+c.again {
				t.Errorf("again %q\nnot %q", unframe(again[6:]), unframe(c.again))
			}
			if got.NeedsPack() != c.pack || got.Empty() != (len(c.want.Commands)+len(c.want.Invalid) == 0) {
				t.Errorf("pack %v, empty %v", got.NeedsPack(), got.Empty())
			}
		})
	}
}

func TestRefusedPushes(t *testing.T) {
	zero, one := hexOf("0"), hexOf("1")
	first := zero + " " + one + " refs/heads/main\x00 report-status side-band-64k"
	for _, c := range []struct{ name, body, want string }{
		{"no frame", "PACK", `malformed pkt-line: bad line length characters 'PACK'`},
		{"a certificate", frames("push-cert\x00 report-status side-band-64k", "certificate version 0.1", "pusher x", zero+" "+one+" refs/heads/main", "push-cert-end", "flush"), "signed pushes are not taken here, as refs follow signed events: push without --signed"},
		{"a certificate after commands", frames(first, "push-cert", "flush"), "signed pushes are not taken here"},
		{"SHA-256", frames(zero + " " + one + " refs/heads/main\x00 object-format=sha256"), `unsupported object format 'sha256': the repositories here are of SHA-1`},
		{"ids of SHA-256", frames(strings.Repeat("0", 64) + " " + strings.Repeat("1", 64) + " refs/heads/main"), "is an object id of SHA-256"},
		{"an id in upper case", frames(zero + " " + strings.ToUpper(hexOf("a")) + " refs/heads/main"), "is no object id of 40 lower-case hex digits"},
		{"an old id in upper case", frames(strings.ToUpper(hexOf("a")) + " " + one + " refs/heads/main"), "is no object id"},
		{"no ref", frames(zero + " " + one), "expected old/new/ref, got"},
		{"an empty ref", frames(zero + " " + one + " "), `'' is no ref name that git takes`},
		{"one id", frames(zero + " refs/heads/main"), "expected old/new/ref, got"},
		{"an empty line", frames(first, ""), `expected old/new/ref, got ''`},
		{"a fetch", frames("want " + one + " side-band-64k\n"), `'want' is no object id`},
		{"a shallow name", frames("shallow main"), `'main' is no object id`},
		{"a name with a blank", frames(zero + " " + one + " refs/heads/a b"), `'refs/heads/a b' is no ref name`},
		{"a name with a newline", frames(zero + " " + one + " refs/heads/a\nng refs/heads/b no\n"), `'refs/heads/a\nng refs/heads/b no' is no ref name`},
		{"a name with a newline alone", frames(zero + " " + one + " refs/heads/a\nb"), `'refs/heads/a\nb' is no ref name`},
		{"a name with a delete", frames(zero + " " + one + " refs/heads/a\x7f"), "is no ref name"},
		{"a very long name", frames(zero + " " + one + " refs/heads/" + strings.Repeat("x", 1000)), "is no ref name"},
		{"a ref twice", frames(first, one+" "+zero+" refs/heads/main", "flush"), `multiple updates for ref 'refs/heads/main' not allowed`},
		{"a ref twice, and neither goes", frames(first, zero+" "+one+" refs/heads/main", "flush"), `multiple updates for ref 'refs/heads/main' not allowed`},
		{"a ref twice that cannot be", frames(zero+" "+one+" HEAD", one+" "+zero+" HEAD", "flush"), `multiple updates for ref 'HEAD' not allowed`},
		{"no flush", frames(first), "the request ends within the commands"},
		{"a delim", frames("delim"), "unexpected delim in the commands"},
		{"a delim among the commands", frames(first, "delim"), "unexpected delim in the commands"},
		{"no flush after options", frames(first+" push-options", "flush", "x"), "the request ends within the push options"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := gitwire.ParsePush(strings.NewReader(c.body))
			var refused *gitwire.RequestError
			if !errors.As(err, &refused) || !strings.Contains(refused.Text, c.want) || p == nil {
				t.Fatalf("%v", err)
			}
			if strings.Contains(c.body, " side-band-64k") != p.Sideband && c.name != "a fetch" {
				t.Errorf("side-band is %v, and the refusal is to stand in one", p.Sideband)
			}
		})
	}
}

func TestPushesAreBounded(t *testing.T) {
	command := func(i int) string { return hexOf("0") + " " + numbered(i) + fmt.Sprintf(" refs/heads/%d", i) }
	bad := func(i int) string { return hexOf("0") + " " + numbered(i) + fmt.Sprintf(" refs/%d", i) }
	for _, c := range []struct{ name, body, want string }{
		{"the most commands", lots(gitwire.MaxCommands, command) + "0000", ""},
		{"too many commands", lots(gitwire.MaxCommands+1, command) + "0000", "more than 20480 refs in one push: push some at a time"},
		{"too many commands that cannot be", lots(gitwire.MaxCommands/2, command) + lots(gitwire.MaxCommands/2+1, bad) + "0000", "more than 20480 refs in one push"},
		{"the most shallows", lots(gitwire.MaxShallows, func(i int) string { return "shallow " + numbered(i) }) + "0000", ""},
		{"too many shallows", lots(gitwire.MaxShallows+1, func(i int) string { return "shallow " + numbered(i) }) + "0000", "more than 32768 shallow commits"},
		{"too many bytes", lots(gitwire.MaxPush/58000+1, func(int) string { return "shallow " + hexOf("1") + "\x00" + strings.Repeat(" x", 29000) }), "too many bytes in pkt-lines: 8388608 are taken"},
	} {
		p, err := gitwire.ParsePush(strings.NewReader(c.body))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(p.Commands)+len(p.Invalid) > gitwire.MaxCommands || len(p.Shallows) > gitwire.MaxShallows {
			t.Errorf("%s: %d commands", c.name, len(p.Commands))
		}
	}
}

// TestTipsOfOnePush: of the refs of pull requests beyond the bound each is refused, and the others of the push are as ever.
func TestTipsOfOnePush(t *testing.T) {
	tip := func(i int) string { return hexOf("0") + " " + numbered(i) + fmt.Sprintf(" refs/nostr/%064x", i) }
	p, err := gitwire.ParsePush(strings.NewReader(lots(gitwire.MaxTips+2, tip) + frames(hexOf("0")+" "+hexOf("1")+" refs/heads/main", "flush")))
	if err != nil {
		t.Fatal(err)
	}
	if p.Tips() != gitwire.MaxTips || len(p.Commands) != gitwire.MaxTips+1 || len(p.Invalid) != 2 || p.Invalid[1].Ref != fmt.Sprintf("refs/nostr/%064x", gitwire.MaxTips+1) {
		t.Errorf("%d tips, %d commands, %d refused", p.Tips(), len(p.Commands), len(p.Invalid))
	}
	if why := p.Invalid[0].Reason; why != "more than 1024 refs of pull requests in one push: push again for the rest" {
		t.Error(why)
	}
}

func TestReport(t *testing.T) {
	outcomes := []gitwire.Outcome{{Ref: "refs/heads/main"}, {Ref: "refs/heads/x", Refused: "no state event\nfor this push\x7f"}}
	lines := frames("unpack ok\n", "ok refs/heads/main\n", "ng refs/heads/x no state event for this push \n", "flush")
	for _, c := range []struct {
		push gitwire.Push
		want string
	}{
		{gitwire.Push{}, ""},
		{gitwire.Push{Sideband: true}, "0000"},
		{gitwire.Push{Report: gitwire.ReportStatus}, lines},
		{gitwire.Push{Report: gitwire.ReportStatusV2}, lines},
		{gitwire.Push{Report: gitwire.ReportStatus, Sideband: true}, frames("\x01"+lines, "flush")},
	} {
		if got := string(c.push.AppendReport([]byte("before"), "", outcomes)); got != "before"+c.want {
			t.Errorf("%+v: %q", c.push, got)
		}
	}
	p := gitwire.Push{Report: gitwire.ReportStatus}
	if got := unframe(string(p.AppendReport(nil, "too\r\nlarge", nil))); got[0] != "unpack too  large\n" || got[1] != "flush" {
		t.Errorf("%q", got)
	}
	for shift := range 3 {
		reason := strings.Repeat("x", shift) + strings.Repeat("\u20ac", 400)
		line := unframe(string(p.AppendReport(nil, "", []gitwire.Outcome{{Ref: "refs/heads/x", Refused: reason}})))[1]
		told := strings.TrimSuffix(strings.TrimPrefix(line, "ng refs/heads/x "), "\n")
		if !strings.HasPrefix(reason, told) || len(told) < 990 || len(told) > 1000 || len(told)%3 != shift {
			t.Errorf("%d of %d bytes: %q", len(told), len(reason), told[len(told)-5:])
		}
	}
	p.Sideband = true // a report of many refs takes many frames
	many := make([]gitwire.Outcome, 20000)
	for i := range many {
		many[i].Ref = fmt.Sprintf("refs/heads/%d", i)
	}
	var report strings.Builder
	frames := unframe(string(p.AppendReport(nil, "", many)))
	for _, frame := range frames[:len(frames)-2] {
		if frame[0] != 1 {
			t.Fatalf("band %d", frame[0])
		}
		report.WriteString(frame[1:])
	}
	if got := unframe(report.String()); frames[len(frames)-2] != "flush" || len(frames) < 9 || len(got) != 20003 || got[20000] != "ok refs/heads/19999\n" {
		t.Errorf("%d frames, %d lines", len(frames), len(got))
	}
}

func TestRefuseAll(t *testing.T) {
	p, err := gitwire.ParsePush(strings.NewReader(frames(hexOf("0")+" "+hexOf("1")+" HEAD", hexOf("0")+" "+hexOf("1")+" refs/heads/x", "flush")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.RefuseAll("no"), []gitwire.Outcome{{"refs/heads/x", "no"}, {"HEAD", `'HEAD' does not begin with refs/`}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestRefusalOfAPush(t *testing.T) {
	if got := string((&gitwire.Push{}).AppendRefusal(nil, "no")); got != frames("ERR no") {
		t.Errorf("%q", got)
	}
	if got := string((&gitwire.Push{Sideband: true}).AppendRefusal(nil, "no")); got != frames("\x03no", "flush") {
		t.Errorf("%q", got)
	}
}

// TestPushOptionsAreBounded: those beyond the bound are read and forgotten, and what follows them is left.
func TestPushOptionsAreBounded(t *testing.T) {
	list := frames(strings.Repeat("0", 40)+" "+strings.Repeat("1", 40)+" refs/heads/main\x00 push-options", "flush")
	in := strings.NewReader(list + strings.Repeat(frames(strings.Repeat("x", 5000)), 10*gitwire.MaxPushOptions) + "0000PACK")
	p, err := gitwire.ParsePush(in)
	if err != nil || len(p.Options) != gitwire.MaxPushOptions || in.Len() != len("PACK") {
		t.Errorf("%d options, %d bytes are left (%v)", len(p.Options), in.Len(), err)
	}
}
