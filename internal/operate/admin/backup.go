package admin

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/graspd/graspd/internal/operate/backup"
)

// BackupRequest is the body of POST /backup.
type BackupRequest struct {
	Dir string `json:"dir,omitempty"` // absolute path of the new directory, on the machine of the relay
	Tar bool   `json:"tar,omitempty"` // the answer is the backup
}

// BackupSize is the header of an answer that is a backup. Its value is how many bytes the files of the backup have.
const BackupSize = "Graspd-Backup-Size"

// backup makes a copy of everything. Only the relay's own key opens it: whoever has that could read everything anyway.
func (c Config) backup(w http.ResponseWriter, r *http.Request) {
	var q BackupRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	switch {
	case err == nil && q.Tar && q.Dir == "":
		c.sendTar(w, r)
	case err == nil && !q.Tar && filepath.IsAbs(q.Dir):
		done(w, c.Node.Backup(filepath.Clean(q.Dir)))
	default:
		answer(w, http.StatusBadRequest, `want {"tar": true} or {"dir": "/an/absolute/path"}`)
	}
}

// readPatience is how long a client may take to read a part of a backup. Meanwhile files that the store has dropped still take room on the disk.
const readPatience = 15 * time.Minute

// sendTar answers with a tar. It cuts off a tar that it cannot finish, so that nobody takes it for whole.
func (c Config) sendTar(w http.ResponseWriter, r *http.Request) {
	begun := false
	slow := http.NewResponseController(w)
	err := c.Node.Stream(r.Context(), func(size int64) (io.Writer, func(int64), error) {
		begun = true
		head(w, "application/x-tar")
		w.Header().Set(BackupSize, strconv.FormatInt(size, 10))
		next := time.Time{}
		return w, func(int64) {
			if now := time.Now(); now.After(next) {
				next = now.Add(time.Minute)
				_ = slow.SetWriteDeadline(now.Add(readPatience)) // a connection without deadlines needs none
			}
		}, nil
	})
	_ = slow.SetWriteDeadline(time.Time{})
	if err != nil && begun {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		done(w, err)
	}
}

// done answers with the end of a backup.
func done(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		answer(w, http.StatusOK, "done")
	case errors.Is(err, backup.ErrRunning), errors.Is(err, fs.ErrExist):
		answer(w, http.StatusConflict, err.Error())
	default:
		answer(w, http.StatusInternalServerError, err.Error())
	}
}
