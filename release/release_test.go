package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	for in, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "0.0.0-dev.20261124.gabc": "0.0.0-dev.20261124.gabc", "1.2.3-rc.1": "1.2.3-rc.1",
		"1.2": "", "1.2.3+meta": "", "1.2.3 ": "", "01.2.3": "", "": "", "1.2.3-": "", "../1.2.3": "",
	} {
		if got, err := parseVersion(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestSystems(t *testing.T) {
	if got, err := parseTargets("linux/amd64, darwin/arm64"); err != nil || len(got) != 2 || got[1] != (target{"darwin", "arm64"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "linux", "linux/", "/amd64", "linux/amd64,"} {
		if got, err := parseTargets(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestArchivesAreOfNobodyAndOneTime: the order in which files are found, and who has them, make no other archive.
func TestArchivesAreOfNobodyAndOneTime(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	files := []packed{{"graspd", []byte("program"), 0o755}, {"docs/A.md", []byte("a"), 0o644}}
	one, other := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "other")
	if err := writeArchive(one, "graspd-1", files, at); err != nil {
		t.Fatal(err)
	}
	if err := writeArchive(other, "graspd-1", []packed{files[1], files[0]}, at); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(other); err != nil || !bytes.Equal(a, b) {
		t.Errorf("another order makes another archive (%v)", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(a))
	if err != nil || !z.ModTime.IsZero() || z.Name != "" {
		t.Fatalf("%+v, %v", z, err)
	}
	var told []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(at) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%+v", h)
		}
		told = append(told, h.Name)
	}
	if strings.Join(told, " ") != "graspd-1/docs/A.md graspd-1/graspd" {
		t.Errorf("%q", told)
	}
}

func TestSame(t *testing.T) {
	dir := func(files ...string) string {
		d := t.TempDir()
		for i := 0; i < len(files); i += 2 {
			if err := os.WriteFile(filepath.Join(d, files[i]), []byte(files[i+1]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	a := dir("x.deb", "1", "y.rpm", "2")
	if err := same(a, dir("x.deb", "1", "y.rpm", "2")); err != nil {
		t.Error(err)
	}
	for _, b := range []string{dir("x.deb", "1", "y.rpm", "3"), dir("x.deb", "1"), dir("x.deb", "1", "y.rpm", "2", "z", "")} {
		if err := same(a, b); err == nil {
			t.Error("they are taken for the same")
		}
	}
	if err := same(a, dir("x.deb", "1", "y.rpm", "3")); err == nil || !strings.Contains(err.Error(), "y.rpm") || strings.Contains(err.Error(), "x.deb") {
		t.Errorf("%v", err)
	}
}

// TestTheBillNamesWhatIsLinked reads that of this very test.
func TestTheBillNamesWhatIsLinked(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "bill")
	b := build{commit: commit{id: "c0ffee", version: "1.2.3", at: time.Unix(0, 0).UTC()}}
	if err := b.writeBill(to, self); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	var got bill
	if err := json.Unmarshal(text, &got); err != nil || got.Format != "CycloneDX" || got.Metadata.Component.Version != "1.2.3" {
		t.Fatalf("%+v, %v", got.Metadata, err)
	}
	for _, m := range info.Deps {
		if !strings.Contains(string(text), `"pkg:golang/`+m.Path+"@") || !strings.Contains(string(text), m.Sum) {
			t.Errorf("no %s", m.Path)
		}
	}
	if len(info.Deps) == 0 {
		t.Error("nothing is linked into this test")
	}
}

// TestAReleaseNamesItself: what starts the image of a release names its version, and its packages say who makes it and where people ask.
func TestAReleaseNamesItself(t *testing.T) {
	b := build{commit: commit{version: "1.2.3"}}
	for _, name := range []string{"compose.yml", "cluster.yml"} {
		compose, err := os.ReadFile(filepath.Join("..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		got := string(b.named("deploy/"+name, compose))
		if !strings.Contains(got, "image: graspd:${VERSION:-1.2.3}") || !strings.Contains(got, "VERSION: ${VERSION:-1.2.3}") {
			t.Error(got)
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	b.credits = credits{support: "https://example.org/ask", home: "https://example.org/graspd", nostr: "nostr://npub1x/git.example.org/graspd"}
	said := "Releases and the source are at <https://example.org/graspd>, and ngit clones it from `nostr://npub1x/git.example.org/graspd`; the place to ask and to report faults is <https://example.org/ask>."
	if !strings.Contains(string(readme), usual().where()) || !strings.Contains(string(b.named("README.md", readme)), said) {
		t.Errorf("README.md does not say where everything is: %q", usual().where())
	}
	if other := b.named("deploy/nginx.conf", []byte("${VERSION:-latest}")); string(other) != "${VERSION:-latest}" {
		t.Errorf("another file: %s", other)
	}
}
