"""What a backup under load costs, and how long it takes to bring a large service back on the other engine."""
