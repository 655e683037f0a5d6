package admin

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"
)

// BackupRequest is the body of POST /backup.
type BackupRequest struct {
	Dir string `json:"dir"` // absolute path of the new directory, on the machine of the relay
}

// mostBackupRequest bounds its size.
const mostBackupRequest = 16 << 10

// ErrBackupRunning says that there is one at a time.
var ErrBackupRunning = errors.New("a backup is under way")

// backup makes a copy of everything, if the one who asks could as well read everything.
func (c Config) backup(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBackupRequest))
	if err != nil {
		answer(w, http.StatusBadRequest, "the request cannot be read")
		return
	}
	if err := authorized(r, body, c.Self, time.Now()); err != nil {
		answer(w, http.StatusUnauthorized, err.Error())
		return
	}
	var q BackupRequest
	if err := json.Unmarshal(body, &q); err != nil || !filepath.IsAbs(q.Dir) {
		answer(w, http.StatusBadRequest, `want {"dir": "/an/absolute/path"}`)
		return
	}
	switch err := c.Backup(filepath.Clean(q.Dir)); {
	case err == nil:
		answer(w, http.StatusOK, "done")
	case errors.Is(err, ErrBackupRunning), errors.Is(err, fs.ErrExist):
		answer(w, http.StatusConflict, err.Error())
	default:
		answer(w, http.StatusInternalServerError, err.Error())
	}
}
