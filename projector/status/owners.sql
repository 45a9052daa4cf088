select partition, application_name from control.partition_owner
