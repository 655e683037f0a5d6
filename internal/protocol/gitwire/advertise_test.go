package gitwire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// header is what git-http-backend writes before what the service says.
func header(service gitwire.Service) string {
	return frames("# service="+service.String()+"\n", "flush")
}

// TestAdvertisementIsGits compares advertisements of random repositories with those of git, byte for byte.
func TestAdvertisementIsGits(t *testing.T) {
	agent := agentOf(t)
	for seed := range uint64(8) {
		dir := randomRepository(t, seeded(seed))
		if seed == 0 {
			dir = emptyRepository(t, "refs/heads/main")
		}
		refs := refsOf(t, dir)
		for _, service := range []gitwire.Service{gitwire.UploadPack, gitwire.ReceivePack} {
			for v := range gitwire.Version(3) {
				args := append(offer[:len(offer):len(offer)], strings.TrimPrefix(service.String(), "git-"), "--http-backend-info-refs", dir)
				want, errs, err := tryGit("", []string{fmt.Sprintf("GIT_PROTOCOL=version=%d", v)}, "", args...)
				if err != nil {
					t.Fatal(err, errs)
				}
				if v < 2 || service == gitwire.ReceivePack {
					want = header(service) + want
				}
				if service == gitwire.UploadPack && v < 2 && len(refs.List) == 0 && !gitSince(t, 41) {
					continue // says nothing at all, and clients hear nothing of what it can do
				}
				if got := string(gitwire.AppendAdvertisement(nil, service, v, refs, agent)); got != want {
					differ(t, fmt.Sprintf("seed %d, %v, version %d", seed, service, v), got, want)
				}
			}
		}
	}
}

// Clients learn from the advertisement of an empty repository what it can do, and no branch that is not there.
func TestAdvertisementOfNothing(t *testing.T) {
	nothing := hexOf("0") + " capabilities^{}\x00"
	refs := &gitwire.Refs{Head: "refs/heads/main"}
	upload := "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative no-progress include-tag" +
		" multi_ack_detailed allow-tip-sha1-in-want allow-reachable-sha1-in-want no-done filter object-format=sha1 agent=graspd/1\n"
	got := string(gitwire.AppendAdvertisement([]byte("before"), gitwire.UploadPack, 0, refs, "graspd/1"))
	if want := "before" + header(gitwire.UploadPack) + frames(nothing+upload, "flush"); got != want {
		t.Errorf("%q", got)
	}
	receive := "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta push-options object-format=sha1 agent=graspd/1\n"
	got = string(gitwire.AppendAdvertisement(nil, gitwire.ReceivePack, 1, refs, "graspd/1"))
	if want := header(gitwire.ReceivePack) + frames("version 1\n", nothing+receive, "flush"); got != want {
		t.Errorf("%q", got)
	}
}

// HEAD is told in version 0 when its branch is there, and else not at all.
func TestAdvertisementOfHead(t *testing.T) {
	refs := &gitwire.Refs{Head: "refs/heads/b", List: []gitwire.Ref{{Name: "refs/heads/a", ID: id("1")}, {Name: "refs/heads/b", ID: id("2")}}}
	for head, want := range map[string]string{"refs/heads/b": hexOf("2") + " HEAD\x00", "refs/heads/c": hexOf("1") + " refs/heads/a\x00", "": hexOf("1") + " refs/heads/a\x00"} {
		refs.Head = head
		lines := unframe(string(gitwire.AppendAdvertisement(nil, gitwire.UploadPack, 0, refs, "x")))
		if !strings.HasPrefix(lines[2], want) || strings.Contains(lines[2], "symref=HEAD:"+head+" ") != strings.Contains(want, "HEAD") {
			t.Errorf("HEAD at %q: %q", head, lines[2])
		}
		if strings.Count(strings.Join(lines, ""), "\x00") != 1 {
			t.Errorf("HEAD at %q: capabilities stand elsewhere than on one line: %q", head, lines)
		}
	}
}

// What a server calls itself cannot add capabilities.
func TestAdvertisementCleansTheAgent(t *testing.T) {
	for _, v := range []gitwire.Version{0, 2} {
		got := string(gitwire.AppendAdvertisement(nil, gitwire.UploadPack, v, &gitwire.Refs{}, "a b\nc\x00\x7f\u00fc"))
		if !strings.Contains(got, "agent=a.b.c....\n") {
			t.Errorf("version %d: %q", v, got)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for header, want := range map[string]gitwire.Version{
		"": 0, "version=0": 0, "version=1": 1, "version=2": 2, "version=3": 0, "version=2:version=1": 2, "version=1:version=2": 2, "version=1:foo:bar=2": 1, "foo:version=2": 2,
		"version=22": 0, "Version=2": 0, " version=2": 0, "version": 0, "version=2:": 2,
	} {
		if got := gitwire.ParseVersion(header); got != want {
			t.Errorf("%q: %d, not %d", header, got, want)
		}
	}
}

func TestParseService(t *testing.T) {
	for name, want := range map[string]bool{"git-upload-pack": true, "git-receive-pack": true, "upload-pack": false, "": false, "git-upload-archive": false, "git-upload-pack ": false} {
		if s, ok := gitwire.ParseService(name); ok != want || ok && s.String() != name {
			t.Errorf("%q: %v, %v", name, s, ok)
		}
	}
}
