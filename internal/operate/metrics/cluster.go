package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/status"
)

// ofCluster adds how this node stands among those that share a bucket; where it is alone there are no such series.
func ofCluster(c *collector, from Cluster) {
	figures := []figure[status.Cluster]{
		gauge(c, "graspd_cluster_leads", "1 where this node writes the bucket that it shares with others (--cluster-listen), 0 where it follows.", func(s status.Cluster) int { return bit(s.Leads) }),
		gauge(c, "graspd_cluster_fresh", "1 where this node leads, or has heard of the commit log within two seconds; else it gets no clients (/readyz).", func(s status.Cluster) int { return bit(s.Fresh || s.Leads) }),
		gauge(c, "graspd_cluster_term", "Term of the commit log: how often a node has begun to lead.", func(s status.Cluster) uint64 { return s.Term }),
		gauge(c, "graspd_cluster_position", "Position up to which this node has the commit log.", func(s status.Cluster) uint64 { return s.Position }),
		gauge(c, "graspd_cluster_behind", "Commits that this node is known to lack.", func(s status.Cluster) uint64 { return s.Behind }),
		gauge(c, "graspd_cluster_lag_seconds", "For how long this node has lacked commits; 0 where it has all of which it knows.", func(s status.Cluster) float64 { return s.Lag.Seconds() }),
		gauge(c, "graspd_cluster_nodes", "Nodes that share the bucket, this one among them, and have told the one that leads how they stand within five seconds.", status.Cluster.Heard),
		counter(c, "graspd_cluster_carried_requests_total", "Requests of clients that this node, which follows, has carried to the one that leads: pushes, to manage the relay, to sign in.", func(s status.Cluster) uint64 { return s.Carried.Requests }),
		counter(c, "graspd_cluster_carried_events_total", "Events of clients of this node, which follows, that the one that leads has decided.", func(s status.Cluster) uint64 { return s.Carried.Events }),
		counter(c, "graspd_cluster_unanswered_total", "Requests and events that no node took within 15 seconds.", func(s status.Cluster) uint64 { return s.Carried.Unanswered }),
		gauge(c, "graspd_cluster_waiting", "Requests of clients that wait as no node leads.", func(s status.Cluster) int64 { return s.Carried.Waiting }),
	}
	if from != nil {
		part(c, func(context.Context) status.Cluster { return from.Standing() }, figures...)
	}
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}
