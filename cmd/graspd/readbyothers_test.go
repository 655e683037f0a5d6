package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/node"
)

// TestNoSecretForOthers: where the output is a file that others can read, neither a backup nor the key is written there, and the line to
// paste is told.
func TestNoSecretForOthers(t *testing.T) {
	data, _ := filled(t, 1)
	if _, err := node.LoadKey(data); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o644: true, 0o640: true, 0o604: true, 0o600: false, 0o622: false} {
		for _, args := range [][]string{{"backup", "-"}, {"key", "export", "-"}} {
			name := filepath.Join(t.TempDir(), "file")
			f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, mode)
			if err == nil {
				err = f.Chmod(mode) // whatever the umask
			}
			if err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			code := run(t.Context(), append(args, "--data", data), stdio{strings.NewReader(""), f, &errs}, noEnv)
			info, err := f.Stat()
			if err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			told := strings.Contains(errs.String(), "(umask 077; graspd "+args[0])
			if (code == exitUsage) != refused || (info.Size() == 0) != refused || told != refused || !refused && code != exitOK {
				t.Errorf("%v into a file of mode %04o: %d, %d bytes, %s", args, mode, code, info.Size(), &errs)
			}
		}
	}
}
