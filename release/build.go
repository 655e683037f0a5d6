package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// build makes everything once.
type build struct {
	commit
	source, out string // directories that it makes
	cache       string // of the compiler; "" is the usual one
	credits
}

// credits are what a release says of those who make it.
type credits struct {
	maintainer string // name <address>, as packages want it
	support    string // where people ask, and report faults
	home       string // where the source and the releases are
	nostr      string // where ngit clones the source; "" for nowhere
}

// usual are the credits of a release that says nothing else.
func usual() credits {
	const home = "https://github.com/graspd/graspd"
	return credits{maintainer: "The graspd authors <graspd@localhost>", support: home + "/issues", home: home}
}

// where says where everything is, as README.md does.
func (c credits) where() string {
	source := "Releases and the source are at <" + c.home + ">"
	if c.nostr != "" {
		source += ", and ngit clones it from `" + c.nostr + "`"
	}
	return source + "; the place to ask and to report faults is <" + c.support + ">."
}

// named writes the version into what starts the image of a release, which otherwise takes the latest, and who makes it into the page that people
// read first.
func (b build) named(name string, body []byte) []byte {
	switch path.Base(name) {
	case "README.md":
		return bytes.ReplaceAll(body, []byte(usual().where()), []byte(b.where()))
	case "compose.yml", "cluster.yml":
		body = bytes.ReplaceAll(body, []byte("${VERSION:-latest}"), []byte("${VERSION:-"+b.version+"}"))
		return bytes.ReplaceAll(body, []byte("VERSION: ${VERSION:-}"), []byte("VERSION: ${VERSION:-"+b.version+"}"))
	}
	return body
}

// all makes everything for all systems.
func (b build) all(ctx context.Context, root string, targets []target) error {
	if err := b.export(ctx, root, b.source); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	made, err := b.describe(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		fmt.Printf("graspd %s for %s\n", b.version, t)
		binary := filepath.Join(filepath.Dir(b.source), "bin", t.String(), "graspd")
		if err := b.compile(ctx, t, binary); err != nil {
			return err
		}
		if err := b.pack(t, binary, made); err != nil {
			return err
		}
	}
	return writeSums(b.out)
}

// pack makes of a binary what is published of it.
func (b build) pack(t target, binary string, made []text) error {
	name := filepath.Join(b.out, fmt.Sprintf("graspd-%s-%s", b.version, t))
	if err := b.writeBill(name+".cdx.json", binary); err != nil {
		return err
	}
	files, err := b.archived(binary, made)
	if err != nil {
		return err
	}
	if err := writeArchive(name+".tar.gz", filepath.Base(name), files, b.at); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return b.writePackages(t, binary, made)
}

// compile builds the program so that nothing of the machine that builds it is in it.
func (b build) compile(ctx context.Context, t target, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+b.version, "-o", to, "./cmd/graspd")
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+t.os, "GOARCH="+t.arch)
	if b.cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+b.cache)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", t, err, out)
	}
	return nil
}

// text is a file that the program itself writes, by these words of a command line.
type text struct {
	args []string
	to   string // under share/
	body []byte
}

// describe has the program write its manual page and what shells complete it by.
func (b build) describe(ctx context.Context) ([]text, error) {
	binary := filepath.Join(filepath.Dir(b.source), "bin", "here", "graspd")
	if err := b.compile(ctx, target{runtime.GOOS, runtime.GOARCH}, binary); err != nil {
		return nil, err
	}
	made := []text{
		{args: []string{"man"}, to: "man/man1/graspd.1"},
		{args: []string{"completion", "bash"}, to: "bash-completion/completions/graspd"},
		{args: []string{"completion", "zsh"}, to: "zsh/site-functions/_graspd"},
		{args: []string{"completion", "fish"}, to: "fish/vendor_completions.d/graspd.fish"},
	}
	for i := range made {
		cmd := exec.CommandContext(ctx, binary, made[i].args...)
		cmd.Env = []string{} // what is set here is not what is set elsewhere
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("graspd %s: %w", strings.Join(made[i].args, " "), err)
		}
		made[i].body = out
	}
	return made, nil
}
