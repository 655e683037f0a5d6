package git

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// sources are git servers by others, each of which serves the repositories of a directory and gives its URL.
var sources = []struct {
	name  string
	start func(t *testing.T, root string) (url string)
}{
	{"nginx with git http-backend", nginx},
	{"dulwich", dulwichServer},
}

// TestGitDataFromServersByOthers: what a state names and nobody pushes here comes from whatever serves it, later commits too.
func TestGitDataFromServersByOthers(t *testing.T) {
	for _, x := range sources {
		t.Run(x.name, func(t *testing.T) {
			root, origin := t.TempDir(), seed(t)
			theirs := repo{t, filepath.Join(root, "tool.git")}
			origin.git("", "clone", "-q", "--bare", origin.dir, theirs.dir)
			s := serve(t, "--sync", "--sync-allow-private")
			base := x.start(t, root)
			clone := s.service.CloneURL(s.owner.PubKey(), "tool")
			announcement := s.sign(t, nip34.KindRepository, nostr.Tag{"d", "tool"}, nostr.Tag{"clone", clone, base + "/tool.git"},
				nostr.Tag{"relays", s.service.RelayURL().String()})
			s.publish(t, announcement)
			url := s.http + strings.TrimPrefix(clone, s.service.WebURL())
			comes := func() {
				t.Helper()
				state := s.state(t, "tool", theirs.refs("refs/heads", "refs/tags"))
				refused(t, url) // nobody waits for a push any more
				s.awaits(t, state)
				mine := repo{t, filepath.Join(t.TempDir(), "mine")}
				origin.git("", "clone", "-q", "--mirror", url, mine.dir)
				mine.whole()
				if got, want := mine.refs("refs/heads", "refs/tags"), theirs.refs("refs/heads", "refs/tags"); got != want {
					t.Errorf("refs\n%s\nwant\n%s", got, want)
				}
			}
			comes()
			s.served(t, announcement)
			origin.commit("later", "later")
			origin.git("", "push", "-q", theirs.dir, "main")
			comes()
		})
	}
}

// refused is a push that brings something else than the state says.
func refused(t *testing.T, url string) {
	t.Helper()
	r := repo{t, t.TempDir()}
	r.git("", "init", "-q", "-b", "main")
	r.commit("wrong", "wrong")
	cmd := exec.CommandContext(t.Context(), "git", "push", url, "main:wrong")
	cmd.Dir, cmd.Env = r.dir, environment()
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("not refused: %s", out)
	}
}

// background starts a program that ends with the test.
func background(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	said := &logs{}
	if _, err := exec.LookPath(name); err != nil {
		name = filepath.Join("/usr/sbin", name) // where Debian has servers, and not everybody looks
	}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stderr = environment(), said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%s says\n%s", name, said)
		}
	})
	return cmd
}

// nginx serves by git's http-backend, as relays of the field do.
func nginx(t *testing.T, root string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "graspd-nginx") // below it everybody finds the way
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "fcgi.sock")
	fcgi := background(t, "fcgiwrap", "-s", "unix:"+socket, "-c", "2")
	if err := fcgi.Start(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	programs, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	conf := fmt.Sprintf(`%s daemon off; pid %s/pid; error_log stderr; worker_processes 1; events {}
http {
  access_log off; client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
  server {
    listen %[3]s;
    location / {
      fastcgi_pass unix:%[4]s;
      fastcgi_param SCRIPT_FILENAME %[5]s/git-http-backend;
      fastcgi_param GIT_PROJECT_ROOT %[6]s;
      fastcgi_param GIT_HTTP_EXPORT_ALL "";
      fastcgi_param GIT_CONFIG_NOSYSTEM 1;
      fastcgi_param PATH_INFO $uri;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param HTTP_GIT_PROTOCOL $http_git_protocol;
      fastcgi_param SERVER_PROTOCOL $server_protocol;
    }
  }
}
`, user, dir, address, socket, strings.TrimSpace(string(programs)), root)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	web := background(t, "nginx", "-p", dir, "-c", file, "-e", "stderr")
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	answers(t, address)
	return "http://" + address
}

// answers waits until somebody listens.
func answers(t *testing.T, address string) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("nobody listens on %s", address)
		}
	}
}

func dulwichServer(t *testing.T, root string) string {
	t.Helper()
	cmd := background(t, filepath.Join(tools, "venv", "bin", "python"), "dulwich_server.py", root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("dulwich does not listen")
	}
	return lines.Text()
}
