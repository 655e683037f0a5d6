package gitproc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Version is a version of git.
type Version struct{ Major, Minor, Patch int }

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

func (v Version) compare(other Version) int {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor), cmp.Compare(v.Patch, other.Patch))
}

// oldest is the oldest release that has everything graspd needs: cruft packs, fsck's classes in index-pack, and the fixes of 2024 without what
// these broke at first.
var oldest = Version{2, 39, 5}

// unfixed is the one release that knows GIT_NO_LAZY_FETCH but does not obey it where it matters (CVE-2024-32465).
var unfixed = Version{2, 45, 0}

var versionLine = regexp.MustCompile(`^git version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?`)

func parseVersion(printed string) (v Version, ok bool) {
	m := versionLine.FindStringSubmatch(printed)
	if m == nil {
		return Version{}, false
	}
	for i, into := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*into, _ = strconv.Atoi(m[i+1]) // digits, or nothing where there is no third number
	}
	return v, true
}

// UnfitError says why graspd cannot use a git program, and what to do.
type UnfitError struct{ Text string }

func (e *UnfitError) Error() string { return e.Text }

func unfit(format string, args ...any) error {
	return &UnfitError{fmt.Sprintf(format, args...) + ": install git " + oldest.String() + " or newer"}
}

// look finds the program and returns its path. It fails with an UnfitError.
func look(name string) (string, error) {
	if name == "" {
		name = "git"
	}
	found, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrDot):
		return "", unfit("%s is taken from the working directory only by its path", name)
	case err != nil:
		return "", unfit("git is not there (%s)", err)
	}
	return filepath.Abs(found)
}

// fit asks the program for its version, and tries whether it refrains from fetching objects that a repository lacks. The fixes that keep it
// from that came together with the fix of CVE-2024-32004, also where a distribution took them into an older release.
func (g *Git) fit(ctx context.Context) (Version, error) {
	var out bytes.Buffer
	if err := g.Run(ctx, version(), Run{Out: &out}); err != nil {
		return Version{}, unfitOr(ctx, err, "%s does not tell its version (%s)", g.program, err)
	}
	v, ok := parseVersion(out.String())
	switch {
	case !ok:
		return v, unfit("%s is no git", g.program)
	case v.compare(oldest) < 0:
		return v, unfit("git %s at %s is too old", v, g.program)
	case v == unfixed:
		return v, unfit("git %s at %s lacks the fixes of CVE-2024-32004 and CVE-2024-32465", v, g.program)
	}
	for line := range strings.Lines(out.String()) { // git tells this since 2.50
		if sha1, ok := strings.CutPrefix(line, "SHA-1: "); ok && strings.TrimSpace(sha1) != "SHA1_DC" {
			return v, unfit("git %s at %s computes SHA-1 without detecting collisions", v, g.program)
		}
	}
	var ended *Error
	err := g.Run(ctx, lazyFetch(), Run{})
	if !errors.As(err, &ended) || ended.Ending != Exited { // it must find nothing, and say so by its exit code
		return v, unfitOr(ctx, err, "git %s at %s does not work (%v)", v, g.program, err)
	}
	if strings.Contains(ended.Stderr, "'"+lazyTransport+"'") {
		return v, unfit("git %s at %s lacks the fixes of CVE-2024-32004 and CVE-2024-32465", v, g.program)
	}
	return v, nil
}

// unfitOr returns err where the context has ended, and else the error of an unfit program.
func unfitOr(ctx context.Context, err error, format string, args ...any) error {
	if ctx.Err() != nil {
		return err
	}
	return unfit(format, args...)
}
