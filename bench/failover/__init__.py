"""What the loss of a machine costs: the leader of a cluster is killed under a steady load, again and again."""
