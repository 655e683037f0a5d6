package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/doctor"
)

// The least that this machine should have for a relay.
const (
	fewFiles  = 4096    // open files
	fewInodes = 100_000 // free inodes
)

// examineHere looks at this machine: disk, open files and git.
func examineHere(ctx context.Context, c *Config, report func(doctor.Finding)) {
	for _, f := range examineDisks(c, store.SpaceIn, onOneDisk) {
		report(f)
	}
	report(examineFiles(openFiles()))
	if c.HostsGit {
		report(examineGit(ctx, c.Git.Program))
	}
}

// onOneDisk reports whether two directories are on one file system. It is true also while one of them does not exist.
func onOneDisk(a, b string) bool {
	var x, y syscall.Stat_t
	return syscall.Stat(a, &x) != nil || syscall.Stat(b, &y) != nil || x.Dev == y.Dev
}

// examineDisks looks at the file system of the data, and at that of the git data where it is another one.
func examineDisks(c *Config, stat func(string) (store.Space, error), same func(a, b string) bool) []doctor.Finding {
	floor := uint64(max(0, c.DiskFloor))
	all, at := examineDisk(c.Data, floor, stat), node.GitIn(c.Data)
	if !c.HostsGit || same(c.Data, at) {
		return all
	}
	for _, f := range examineDisk(at, floor, stat) {
		f.What, f.Mend = "git "+f.What, strings.ReplaceAll(f.Mend, "graspd stores nothing", "graspd takes no push")
		all = append(all, f)
	}
	return all
}

// examineDisk looks at the file system of a directory, or of the nearest directory above that exists.
func examineDisk(dir string, floor uint64, stat func(string) (store.Space, error)) []doctor.Finding {
	at, err := filepath.Abs(dir)
	if err != nil {
		at = dir
	}
	d, err := stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		d, err = stat(at)
	}
	if err != nil {
		return []doctor.Finding{{What: "disk", Level: doctor.Skipped, Text: fmt.Sprintf("%s cannot be looked at: %v", at, err)}}
	}
	free := doctor.Finding{What: "disk", Text: fmt.Sprintf("%s free at %s", sizeText(int64(wholeUnits(d.Free))), at)}
	switch {
	case d.Free <= floor:
		free.Level, free.Mend = doctor.Fault, fmt.Sprintf("Below --disk-floor (%s) graspd stores nothing. Make room, or move the data to a larger disk.", sizeText(int64(floor)))
	case d.Free < 2*floor:
		free.Level, free.Mend = doctor.Warning, fmt.Sprintf("At --disk-floor (%s) graspd stores nothing more. Make room soon.", sizeText(int64(floor)))
	}
	inodes := doctor.Finding{What: "inodes", Text: fmt.Sprintf("%d free at %s", d.Inodes.Free, at)}
	kept := uint64(1)
	if floor > 0 {
		kept = d.Inodes.Floor(store.DefaultInodeFloor)
	}
	switch {
	case d.Inodes.All == 0: // this file system makes inodes as it goes
		inodes.Text = "as many as there is room for"
	case d.Inodes.Full(kept):
		inodes.Level, inodes.Mend = doctor.Fault, fmt.Sprintf("Below %d free inodes graspd stores nothing, although there is room. Remove small files, or use a file system with more inodes.", kept)
	case d.Inodes.Free < max(2*kept, min(fewInodes, d.Inodes.All/4)):
		inodes.Level, inodes.Mend = doctor.Warning, fmt.Sprintf("Repositories are made of files, and below %d free inodes graspd stores nothing more. Use a file system with more inodes before they run out.", kept)
	}
	return []doctor.Finding{free, inodes}
}

// wholeUnits rounds a size down to whole GiB, and below 10 GiB to whole MiB.
func wholeUnits(n uint64) uint64 {
	if n >= 10<<30 {
		return n >> 30 << 30
	}
	return n >> 20 << 20
}

// examineFiles looks at how many files a process may have open.
func examineFiles(n uint64) doctor.Finding {
	f := doctor.Finding{What: "open files", Text: fmt.Sprintf("a process may have %d", n)}
	if n > 1<<40 {
		f.Text = "a process may have as many as it likes"
	}
	if n < fewFiles {
		f.Level = doctor.Warning
		f.Mend = "That bounds how many clients may be connected.\n  systemd: LimitNOFILE=65536 in the unit\n  docker: --ulimit nofile=65536"
	}
	return f
}

// examineGit asks the git program for its version.
func examineGit(ctx context.Context, program string) doctor.Finding {
	g, err := gitproc.Open(ctx, gitproc.Config{Program: program})
	if err != nil {
		return doctor.Finding{What: "git program", Level: doctor.Fault, Text: err.Error(), Mend: "apt install git, or name another one with --git-program, or host no repositories with --git=false"}
	}
	return doctor.Finding{What: "git program", Text: fmt.Sprintf("git %s", g.Version())}
}
