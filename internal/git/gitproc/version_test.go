package gitproc_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
)

// fake writes a program that is all of body.
func fake(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	executable(t, path, "#!/bin/sh\nwhile [ \"$1\" = -c ]; do shift 2; done\n"+body+"\n")
	return path
}

func TestTheGitOfThisMachineIsFit(t *testing.T) {
	g := open(t, gitproc.Config{})
	if v := g.Version(); v.Major < 2 {
		t.Errorf("version %s", v)
	}
}

func TestWhichGitIsFit(t *testing.T) {
	const lazy = "; [ \"$1\" != cat-file ] || exit 1"
	for name, c := range map[string]struct {
		body string
		want string // in the error; "" is fit
	}{
		"the oldest":                  {"echo git version 2.39.5" + lazy, ""},
		"Apple's":                     {"echo 'git version 2.39.5 (Apple Git-154)'" + lazy, ""},
		"of two parts":                {"echo git version 2.50" + lazy, ""},
		"a new one":                   {"echo git version 3.0.0.rc1" + lazy, ""},
		"too old by its last part":    {"echo git version 2.39.4" + lazy, "git 2.39.4 at"},
		"too old":                     {"echo git version 2.9.11" + lazy, "too old"},
		"the one with half the fixes": {"echo git version 2.45.0" + lazy, "CVE-2024-32465"},
		"patched by a distribution":   {"echo git version 2.43.0" + lazy, ""},
		"not patched": {"[ \"$1\" = cat-file ] && { echo \"fatal: transport 'graspd-probe' not allowed\" >&2; exit 1; }; echo git version 2.43.0",
			"CVE-2024-32004"},
		"collisions are detected":     {"echo git version 2.50.0; echo SHA-1: SHA1_DC" + lazy, ""},
		"collisions are not detected": {"echo git version 2.50.0; echo SHA-1: SHA1_OPENSSL" + lazy, "without detecting collisions"},
		"no git":                      {"echo hello", "is no git"},
		"one that fails":              {"exit 3", "does not tell its version"},
		"one that finds everything":   {"echo git version 2.50.0", "does not work"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gitproc.Open(t.Context(), gitproc.Config{Program: fake(t, c.body)})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			mentions(t, err, c.want, "install git 2.39.5 or newer")
			if unfit := new(gitproc.UnfitError); !errors.As(err, &unfit) {
				t.Errorf("%T", err)
			}
		})
	}
}

func TestGitThatIsNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := gitproc.Open(t.Context(), gitproc.Config{})
	mentions(t, err, "git is not there", "install git 2.39.5 or newer")
	_, err = gitproc.Open(t.Context(), gitproc.Config{Program: filepath.Join(t.TempDir(), "nothing")})
	mentions(t, err, "git is not there")
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gitproc.Open(ctx, gitproc.Config{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
