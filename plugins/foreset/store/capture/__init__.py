"""From source versions to exact set differentials: what changed since the last committed refresh."""
