"""What only asks and changes nothing: why a row is there, what a view holds, what a refresh would cost."""
