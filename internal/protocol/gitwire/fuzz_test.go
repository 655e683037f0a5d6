package gitwire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// endless is a text that no frame takes.
var endless = strings.Repeat("x", 70000)

// FuzzRequest reads any body. What is taken is within the bounds, is the same when it is written and read again, and can be
// answered; what is not taken is refused in a few words.
func FuzzRequest(f *testing.F) {
	one, two := hexOf("1"), hexOf("2")
	for _, body := range []string{
		"", "0000", "0001", fetch2("thin-pack", "no-progress", "include-tag", "ofs-delta", "want "+one, "want "+two, "have "+one, "done"),
		fetch2("sideband-all", "wait-for-done", "shallow "+one, "deepen 3", "deepen-relative", "filter blob:limit=1k", "packfile-uris https", "want-ref refs/heads/main", "want-ref HEAD"),
		fetch2("deepen-since 1700000000", "deepen-not main", "deepen-not refs/tags/v1", "want "+one), fetch2("want "+one, "have "+one), fetch2("filter tree:0"),
		frames("command=ls-refs", "server-option=x", "delim", "peel", "symrefs", "unborn", "ref-prefix refs/heads/", "ref-prefix refs/heads/m", "ref-prefix HEAD\n\n", "flush"),
		frames("command=object-info", "delim", "size", "oid "+one, "flush"),
		frames("want "+one+" multi_ack_detailed no-done side-band-64k thin-pack include-tag ofs-delta agent=git/2.39.5\n", "want "+two, "flush", "have "+one, "done\n"),
		frames("want "+one+" multi_ack side-band deepen-relative no-progress filter", "shallow "+two, "deepen 1", "filter blob:none", "flush"),
		frames("want "+one, "flush", "have "+two, "flush"), frames("want "+one, "flush", "flush"),
	} {
		for v := range gitwire.Version(3) {
			f.Add([]byte(body), uint8(v))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, version uint8) {
		v := gitwire.Version(version % 3)
		in := bytes.NewReader(body)
		q, err := gitwire.ParseRequest(in, v)
		if err != nil {
			brief(t, err)
			for _, text := range []string{err.Error(), endless} {
				readable(t, q.AppendRefusal(nil, text))
			}
			return
		}
		text := q.AppendTo(nil)
		if len(text) > 2*len(body)+200 {
			t.Fatalf("%d bytes are written again as %d", len(body), len(text))
		}
		again, err := gitwire.ParseRequest(bytes.NewReader(text), v)
		if err != nil || !reflect.DeepEqual(again, q) {
			t.Fatalf("%s\nis written as %q and read as\n%s, %v", show(q), text, show(again), err)
		}
		if string(again.AppendTo(nil)) != string(text) {
			t.Fatalf("%q has another canonical form", text)
		}
		answerable(t, q)
	})
}

// answerable answers a request as far as it can be without objects.
func answerable(t *testing.T, q gitwire.Request) {
	switch {
	case q.LsRefs != nil:
		readable(t, q.LsRefs.AppendAnswer(nil, &some))
	case q.ObjectInfo != nil:
		readable(t, q.ObjectInfo.AppendAnswer(nil, make([]int64, len(q.ObjectInfo.IDs))))
	case q.Fetch != nil:
		if q.Fetch.Resolve(&some) != nil {
			return
		}
		readable(t, q.Fetch.AppendHead(nil))
		key, keyed := q.Fetch.Key()
		if keyed != (key != gitwire.Key{}) || keyed && len(q.Fetch.Haves) > 0 {
			t.Fatalf("key %x, %v", key, keyed)
		}
		if tips := q.Fetch.Tips(); q.Fetch.Work() == gitwire.WorkPack && len(tips) == 0 {
			t.Fatal("a pack of nothing")
		}
		p := q.ForUploadPack()
		if again, err := gitwire.ParseRequest(bytes.NewReader(p.AppendTo(nil)), q.Version); err != nil || len(again.Fetch.WantRefs) > 0 || len(again.Fetch.Haves) != len(q.Fetch.Haves) {
			t.Fatalf("upload-pack is given %q: %v", p.AppendTo(nil), err)
		}
	}
}

// brief requires a refusal of a few words, or a stream that broke off.
func brief(t *testing.T, err error) {
	t.Helper()
	var refused *gitwire.RequestError
	if errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &refused) {
		return
	}
	if !errors.As(err, &refused) || len(refused.Text) > 1000 || strings.ContainsAny(refused.Text, "\x00\x1b\n\r") {
		t.Fatalf("%v", err)
	}
}

// readable requires whole frames.
func readable(t *testing.T, stream []byte) {
	t.Helper()
	r := pktline.NewReader(bytes.NewReader(stream), int64(len(stream))+4)
	for {
		if _, _, err := r.Next(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%.200q: %v", stream, err)
		}
	}
}

// FuzzPush does the same with lists of commands.
func FuzzPush(f *testing.F) {
	zero, one := hexOf("0"), hexOf("1")
	for _, body := range []string{
		"", "0000", frames(zero+" "+one+" refs/heads/main\x00 report-status-v2 side-band-64k quiet atomic object-format=sha1 agent=git/2.39.5", one+" "+zero+" refs/tags/v1", "flush"),
		frames("shallow "+one, zero+" "+one+" refs/nostr/"+strings.Repeat("ab", 32)+"\x00report-status agent=a b", zero+" "+one+" HEAD", "flush") + "PACK",
		frames(zero+" "+one+" refs/heads/main\x00push-options", "flush", "a=b", "", "flush"), frames("shallow "+one+"\x00side-band-64k", "flush"),
		frames("push-cert\x00side-band-64k", "push-cert-end", "flush"), frames(zero+" "+one+" refs/heads/\xff", "flush"),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := gitwire.ParsePush(bytes.NewReader(body))
		if err != nil {
			brief(t, err)
			readable(t, p.AppendRefusal(nil, endless))
			return
		}
		text := p.AppendTo(nil)
		again, err := gitwire.ParsePush(bytes.NewReader(text))
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%+v\nis written as %q and read as\n%+v, %v", p, text, again, err)
		}
		for _, c := range p.Commands {
			if err := gitwire.CheckRefName(c.Ref); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range p.Invalid {
			if err := gitwire.CheckRefName(c.Ref); err == nil || err.Error() != c.Reason {
				t.Fatalf("%q: %q, %v", c.Ref, c.Reason, err)
			}
		}
		all := p.RefuseAll("no")
		if len(all) != len(p.Commands)+len(p.Invalid) {
			t.Fatalf("%d outcomes of %d commands", len(all), len(p.Commands)+len(p.Invalid))
		}
		p.Sideband = false
		report := p.AppendReport(nil, "", all)
		readable(t, report)
		if p.Report != gitwire.ReportNone && len(unframe(string(report))) != len(all)+3 {
			t.Fatalf("%q", report)
		}
	})
}

// FuzzRefName compares the rules with git's, read another way: byte by byte, as git's own code goes through a name.
func FuzzRefName(f *testing.F) {
	for _, name := range []string{"refs/heads/main", "refs/heads/a.lock", "refs/heads/@{", "refs/heads/a..b", "refs/@", "refs/a/@", "refs/heads/.a", "refs/heads/a.", "refs/heads/-", "refs/heads/a/", "refs//a", "@"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		rest, under := strings.CutPrefix(name, "refs/")
		want := under && len(name) <= gitwire.MaxRefName && asGitReads(rest)
		if _, short, _ := strings.Cut(rest, "/"); strings.HasPrefix(short, "-") {
			want = false
		}
		err := gitwire.CheckRefName(name)
		if (err == nil) != want {
			t.Fatalf("%q: %v", name, err)
		}
		if err != nil {
			brief(t, err)
		}
	})
}

func asGitReads(name string) bool {
	parts, start := 0, 0
	for i := 0; ; i++ {
		if i < len(name) && name[i] != '/' {
			c := name[i]
			if c < 0x21 || c == 0x7f || bytes.IndexByte([]byte(`~^:?*[\`), c) >= 0 {
				return false
			}
			if i > start && (name[i-1] == '.' && c == '.' || name[i-1] == '@' && c == '{') {
				return false
			}
			continue
		}
		part := name[start:i]
		if len(part) == 0 || part[0] == '.' || len(part) >= 5 && part[len(part)-5:] == ".lock" {
			return false
		}
		parts++
		start = i + 1
		if i == len(name) {
			return parts > 1 && part[len(part)-1] != '.'
		}
	}
}

// FuzzCopyAnswer passes any answer through: what comes out is what came in, with one piece put in at most.
func FuzzCopyAnswer(f *testing.F) {
	for _, answer := range []string{"", "0000", frames("acknowledgments\n", "ready\n", "delim", "packfile\n", "\x01PACK", "flush"), frames("packfile\n") + "rest", frames("\x01packfile\n", "\x01PACK")} {
		f.Add([]byte(answer), false)
		f.Add([]byte(answer), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, banded bool) {
		fetch := resolved(t)
		fetch.SidebandAll = banded
		piece := fetch.AppendHead(nil)
		if len(piece) > 0 {
			t.Fatalf("%q", piece)
		}
		var got bytes.Buffer
		err := fetch.CopyAnswer(&got, bytes.NewReader(answer))
		if err == nil && !bytes.EqualFold(withoutRefs(got.Bytes()), answer) { // lengths may come in upper case
			t.Fatalf("%q becomes %q", answer, got.Bytes())
		}
	})
}

// withoutRefs takes the piece out again.
func withoutRefs(answer []byte) []byte {
	for _, band := range []string{"", "\x01"} {
		piece := frames(band+"wanted-refs\n", band+hexOf("1")+" refs/heads/main\n", "delim")
		answer = bytes.Replace(answer, []byte(piece), nil, 1)
	}
	return answer
}
