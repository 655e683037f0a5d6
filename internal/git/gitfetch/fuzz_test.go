package gitfetch_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// body is that of an HTTP answer.
func body(answer string) []byte {
	_, b, _ := strings.Cut(answer, "\r\n\r\n")
	return []byte(b)
}

// FuzzAdvertisement reads any answer to info/refs. What is taken is within the bounds, what is not has few words.
func FuzzAdvertisement(f *testing.F) {
	for _, a := range []string{offers2, offers0, strings.Replace(offers0, "# service", "# servicf", 1)} {
		f.Add(body(a))
	}
	f.Add([]byte(frames("# service=git-upload-pack\n", "flush", "version 1\n", hexOf("0")+" capabilities^{}"+words0, "flush")))
	f.Add([]byte(frames(hexOf("1")+" refs/tags/a\x00x", hexOf("2")+" refs/tags/a^{}", "shallow "+hexOf("1"), "flush")))
	f.Add([]byte(frames("ERR no")))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := gitfetch.ReadAdvert(bytes.NewReader(b), 100_000, 10)
		if brief(t, err) {
			return
		}
		sound(t, o.Refs)
		if len(o.Asked) == 0 {
			return
		}
		q, err := gitwire.ParseRequest(bytes.NewReader(o.Asked), o.Version)
		if err != nil || q.Fetch == nil || len(q.Fetch.Wants) != 1 || !q.Fetch.Done {
			t.Fatalf("asks %q: %v", o.Asked, err)
		}
	})
}

// FuzzRefs reads any answer to ls-refs.
func FuzzRefs(f *testing.F) {
	f.Add(body(refs2))
	f.Add([]byte(frames(hexOf("1")+" refs/tags/a peeled:"+hexOf("2"), "unborn HEAD symref-target:refs/heads/x", hexOf("1")+" refs/heads/-a", "flush")))
	f.Fuzz(func(t *testing.T, b []byte) {
		refs, err := gitfetch.ReadRefs(bytes.NewReader(b), 100_000, 10)
		if !brief(t, err) {
			sound(t, refs)
		}
	})
}

// FuzzPack reads any answer to a fetch: what is given as a pack stands in its data band, up to the flush.
func FuzzPack(f *testing.F) {
	f.Add(body(pack2), uint8(2))
	f.Add(body(pack0), uint8(0))
	f.Add([]byte(frames("acknowledgments\n", "NAK\n", "delim", "packfile\n", "\x01PACK", "\x03fatal", "flush")), uint8(2))
	f.Add([]byte(frames("ACK "+hexOf("1")+" ready\n", "\x02x", "\x01y", "flush")), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, version uint8) {
		const most = 1000
		got, err := gitfetch.ReadPack(bytes.NewReader(b), gitwire.Version(version%3), most)
		if brief(t, err) {
			return
		}
		var want []byte
		r := pktline.NewReader(bytes.NewReader(b), int64(len(b))+4)
		for kind, p, err := r.Next(); err == nil && kind != pktline.Flush; kind, p, err = r.Next() {
			if kind == pktline.Data && len(p) > 0 && p[0] == 1 {
				want = append(want, p[1:]...)
			}
		}
		if !bytes.Equal(got, want) || len(got) > most {
			t.Fatalf("%d bytes of %d", len(got), len(want))
		}
	})
}

// brief reports whether there is an error, which has few words that print, and is one of those that callers know.
func brief(t *testing.T, err error) bool {
	if err == nil {
		return false
	}
	if len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x00\x1b\n\r") {
		t.Fatalf("%d bytes: %q", len(err.Error()), err)
	}
	_, protocol := errors.AsType[*gitfetch.ProtocolError](err)
	_, server := errors.AsType[*gitfetch.ServerError](err)
	for _, known := range []error{io.ErrUnexpectedEOF, pktline.ErrMalformed, pktline.ErrTooMuch, gitfetch.ErrTooMuch} {
		protocol = protocol || errors.Is(err, known)
	}
	if !protocol && !server {
		t.Fatal(err)
	}
	return true
}

func sound(t *testing.T, refs *gitwire.Refs) {
	if len(refs.List) > 10 || refs.Head != "" && gitwire.CheckRefName(refs.Head) != nil {
		t.Fatalf("%+v", refs)
	}
	for i, ref := range refs.List {
		if gitwire.CheckRefName(ref.Name) != nil || ref.ID.IsZero() || i > 0 && refs.List[i-1].Name >= ref.Name {
			t.Fatalf("%+v", refs)
		}
		if !slices.ContainsFunc([]string{"refs/heads/", "refs/tags/", "refs/nostr/"}, func(n string) bool { return strings.HasPrefix(ref.Name, n) }) {
			t.Fatalf("%+v", refs)
		}
	}
}
