package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// names are all metrics that are served.
func names(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range newCollector(Config{}).families {
		out[f.name] = true
		if f.kind == "histogram" {
			out[f.name+"_bucket"], out[f.name+"_sum"], out[f.name+"_count"] = true, true, true
		}
	}
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gathered, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range gathered {
		out[f.GetName()] = true
	}
	return out
}

var metricName = regexp.MustCompile(`\b(ngit|graspd|go|process)_[a-z0-9_]+`)

// TestWhatIsDeployedUsesWhatIsServed: dashboard and alerts ask for metrics that exist.
func TestWhatIsDeployedUsesWhatIsServed(t *testing.T) {
	served := names(t)
	for _, file := range []string{"grafana.json", "alerts.yml"} {
		b, err := os.ReadFile("../../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		used := metricName.FindAllString(string(b), -1)
		if len(used) < 5 {
			t.Errorf("%s uses %d metrics", file, len(used))
		}
		for _, name := range used {
			if !served[name] {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
}

// TestTheDashboard: it is one that Grafana takes, its panels have their own places and ask something.
func TestTheDashboard(t *testing.T) {
	b, err := os.ReadFile("../../../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title         string
		SchemaVersion int
		Panels        []struct {
			ID          int
			Type        string
			Title       string
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.SchemaVersion == 0 || len(d.Panels) < 20 {
		t.Errorf("%q, schema %d, %d panels", d.Title, d.SchemaVersion, len(d.Panels))
	}
	ids, cells := map[int]bool{}, map[[2]int]int{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("panel %d is there twice", p.ID)
		}
		ids[p.ID] = true
		if g := p.GridPos; g.X+g.W > 24 {
			t.Errorf("panel %d is too wide", p.ID)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != 0 {
					t.Fatalf("panels %d and %d overlap", p.ID, other)
				}
				cells[[2]int{x, y}] = p.ID
			}
		}
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, `job=~"$job"`) {
				t.Errorf("panel %d does not choose the job: %s", p.ID, target.Expr)
			}
		}
		if p.Type != "row" && (p.Title == "" || !strings.HasSuffix(p.Description, ".")) {
			t.Errorf("panel %d (%q) does not say what it shows: %q", p.ID, p.Title, p.Description)
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d asks nothing", p.ID)
		}
	}
}
