package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages makes the packages for Debian and for systems with rpm.
func (b build) writePackages(t target, binary string, made []text) error {
	for _, f := range []struct {
		format   string
		needs    []string
		packager nfpm.Packager
	}{
		{"deb", []string{"git (>= 1:2.39.5)", "ca-certificates"}, deb.Default},
		{"rpm", []string{"git-core >= 2.39.5", "ca-certificates"}, rpm.DefaultRPM},
	} {
		info, err := b.packageOf(t, binary, made)
		if err != nil {
			return err
		}
		info.Depends = f.needs
		if err := writePackage(filepath.Join(b.out, fmt.Sprintf("graspd-%s-%s.%s", b.version, t, f.format)), f.format, f.packager, info); err != nil {
			return fmt.Errorf("package %s: %w", f.format, err)
		}
	}
	return nil
}

func writePackage(name, format string, p nfpm.Packager, info *nfpm.Info) error {
	// Version 1.2.3-rc.1 becomes what sorts before 1.2.3 in each format.
	if err := nfpm.PrepareForPackager(nfpm.WithDefaults(info), format); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(p.Package(info, f), f.Close())
}

// packageOf says what is installed where, and what is done then. The settings are the operator's from then on.
func (b build) packageOf(t target, binary string, made []text) (*nfpm.Info, error) {
	stage := filepath.Join(filepath.Dir(b.source), "stage", t.String())
	info := &nfpm.Info{
		Name: "graspd", Arch: t.arch, Platform: t.os, Version: b.version, Section: "net", Priority: "optional",
		Maintainer: b.maintainer, License: "MIT", MTime: b.at,
		Description: "Nostr relay for git collaboration\nIt hosts git repositories (NIP-34, GRASP) and keeps them complete, events and git data alike.\nQuestions and faults: " + b.support,
		Homepage:    b.home,
	}
	info.RPM.BuildHost, info.RPM.Summary = "localhost", "Nostr relay for git collaboration"
	scripts := filepath.Join(b.source, "deploy", "package")
	info.Scripts = nfpm.Scripts{
		PostInstall: filepath.Join(scripts, "postinstall"), PreRemove: filepath.Join(scripts, "preremove"), PostRemove: filepath.Join(scripts, "postremove"),
	}
	put := func(to string, mode os.FileMode, kind string, body []byte) error {
		from := filepath.Join(stage, to)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(from, body, mode); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, Owner: "root", Group: "root", MTime: b.at},
		})
		return nil
	}
	for _, m := range made {
		if err := put(path.Join("/usr/share", m.to), 0o644, "", m.body); err != nil {
			return nil, err
		}
	}
	for _, c := range []struct {
		from, to string
		mode     os.FileMode
		kind     string
	}{
		{binary, "/usr/bin/graspd", 0o755, ""},
		{"deploy/graspd.service", "/usr/lib/systemd/system/graspd.service", 0o644, ""},
		{"deploy/graspd.socket", "/usr/lib/systemd/system/graspd.socket", 0o644, ""},
		{"deploy/graspd.sysusers", "/usr/lib/sysusers.d/graspd.conf", 0o644, ""},
		{"deploy/graspd.env", "/etc/graspd.env", 0o600, files.TypeConfigNoReplace},
		{"LICENSE", "/usr/share/doc/graspd/copyright", 0o644, ""},
		{"README.md", "/usr/share/doc/graspd/README.md", 0o644, ""},
		{"CHANGELOG.md", "/usr/share/doc/graspd/CHANGELOG.md", 0o644, ""},
	} {
		if !filepath.IsAbs(c.from) {
			c.from = filepath.Join(b.source, filepath.FromSlash(c.from))
		}
		body, err := os.ReadFile(c.from)
		if err != nil {
			return nil, err
		}
		if body = b.named(c.to, body); path.Ext(c.to) == ".service" {
			body = bytes.ReplaceAll(body, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
		}
		if err := put(c.to, c.mode, c.kind, body); err != nil {
			return nil, err
		}
	}
	for _, top := range []string{"docs", "deploy"} {
		more, err := under(b.source, top)
		if err != nil {
			return nil, err
		}
		for _, f := range more {
			to := f.to
			if top == "docs" {
				to = path.Base(to)
			}
			if path.Dir(to) == "deploy/package" {
				continue
			}
			f.body = b.named(f.to, f.body)
			if err := put(path.Join("/usr/share/doc/graspd", to), 0o644, "", f.body); err != nil {
				return nil, err
			}
		}
	}
	return info, nil
}
