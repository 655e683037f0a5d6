package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/admin"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/store"
)

// backupOptions are the settings of the backup command.
type backupOptions struct {
	Config
	admin string // the private listener of the relay
}

func (o *backupOptions) settings(env environment) []setting {
	return append(o.dataSettings(), adminURL("admin", adminAt(env), "private listener of the relay, if it runs", &o.admin))
}

// backupCommand copies a data directory: by the graspd that has it open, if there is one.
func backupCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o backupOptions
	rest, problems, err := parse("backup", o.settings(env), args, std, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		problems = append(problems, fmt.Sprintf("backup takes one new directory DIR, got %q", rest))
	}
	if err := misused(problems); err != nil {
		return err
	}
	dir, err := filepath.Abs(rest[0])
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	err = node.CopyClosed(o.Data, dir, o.storeOptions())
	if errors.Is(err, store.ErrInUse) {
		err = askForBackup(ctx, o.Data, o.admin, dir)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(std.out, "copied to %s; to use the copy, start graspd with --data %s\n", dir, dir)
	return nil
}

// askForBackup has the running graspd make the copy. Who can read its key may ask.
func askForBackup(ctx context.Context, data, base, dir string) error {
	key, err := node.ReadKey(data)
	if err != nil {
		return err
	}
	body, err := json.Marshal(admin.BackupRequest{Dir: dir})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/backup", bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := admin.Authorize(req, body, time.Now(), node.Signer(key)); err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s is in use, and the graspd that uses it does not answer (--admin says where its --admin-listen is): %w", data, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, 16<<10))
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("the graspd at %s: %s", base, strings.TrimSpace(string(text)))
	}
	return err
}
