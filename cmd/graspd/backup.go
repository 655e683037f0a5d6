package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"graspd/internal/admin"
	"graspd/internal/store"
)

// backupCommand copies a data directory: by the graspd that has it open, if there is one.
func backupCommand(ctx context.Context, args []string, std stdio, env lookup) error {
	var c Config
	var base string
	rows := append(c.dataSettings(), adminURL("admin", adminAt(env), "private listener of the relay, if it runs", &base))
	rest, problems, err := parse("backup", rows, args, std, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		problems = append(problems, fmt.Sprintf("backup takes one new directory DIR, got %q", rest))
	}
	if len(problems) > 0 {
		return &usageError{problems}
	}
	dir, err := filepath.Abs(rest[0])
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	err = copyData(c.Data, dir, func(to string) error { return store.CopyClosed(c.storeOptions(), to) })
	if errors.Is(err, store.ErrInUse) {
		err = askForBackup(ctx, c.Data, base, dir)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(std.out, "copied to %s; to use the copy, start graspd with --data %s\n", dir, dir)
	return nil
}

// askForBackup has the running graspd make the copy. Who can read its key may ask.
func askForBackup(ctx context.Context, data, base, dir string) error {
	key, err := readKey(filepath.Join(data, keyFile))
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
	if err := admin.Authorize(req, body, time.Now(), signer(key)); err != nil {
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

// copyData makes a copy of a data directory. Its name is given when it is complete and durable.
func copyData(data, dir string, copyStore func(to string) error) (err error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, &fs.PathError{Op: "copy to", Path: dir, Err: fs.ErrExist})
	}
	partial := dir + ".partial"
	if err := os.Mkdir(partial, 0o700); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: it was left by a copy that was interrupted, remove it", err)
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	to := filepath.Join(partial, "store")
	if err := copyStore(to); err != nil {
		return err
	}
	if err := os.Chmod(to, 0o700); err != nil {
		return err
	}
	if err := copyKey(filepath.Join(data, keyFile), filepath.Join(partial, keyFile)); err != nil {
		return err
	}
	if err := syncDir(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// copyKey copies the relay's key, if it has one yet, for its owner alone.
func copyKey(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// backup copies everything while this node runs, one copy at a time.
func (n *node) backup(dir string) error {
	select {
	case n.backups <- struct{}{}:
		defer func() { <-n.backups }()
	default:
		return admin.ErrBackupRunning
	}
	err := copyData(n.cfg.Data, dir, n.store.Copy)
	if err != nil {
		n.log.Error("backup", "dir", dir, "error", err)
		return err
	}
	n.log.Info("backup", "dir", dir)
	return nil
}

// backupPatience is how long a stop waits for a backup.
const backupPatience = 5 * time.Second

// endBackups waits for the backup under way and lets no other begin.
func (n *node) endBackups() error {
	select {
	case n.backups <- struct{}{}:
		return nil
	case <-time.After(backupPatience):
		return errors.New("stopped in the middle of a backup: its .partial is left")
	}
}
